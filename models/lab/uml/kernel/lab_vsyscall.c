// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The vsyscall page, through which old programs read the time and their processor at fixed
 * addresses. The machine's kernel would answer with its own. Depending on the machine's settings, a
 * call into the page is either reported by SIGSYS from the filter of system calls of a host's
 * programs (../guest/confine.c), or is a fault like any other. Both become the system call here.
 * Included at the end of lab.c.
 */
#define LAB_VSYSCALLS 0xffffffffff600000UL
#define LAB_VSYSCALL_BYTES 1024

/* The program has called the page and has already returned. */
void lab_execute_vsyscall(struct uml_pt_regs *regs, int number)
{
	PT_SYSCALL_NR(regs->gp) = number;
	handle_syscall(regs);
}

/* The program is about to execute an address of the page. */
bool lab_enter_vsyscall(struct uml_pt_regs *regs)
{
	static const int numbers[] = { __NR_gettimeofday, __NR_time, __NR_getcpu };
	const unsigned long at = UPT_IP(regs) - LAB_VSYSCALLS;
	unsigned long back;

	if (at % LAB_VSYSCALL_BYTES != 0 || at / LAB_VSYSCALL_BYTES >= ARRAY_SIZE(numbers) ||
	    get_user(back, (unsigned long __user *)UPT_SP(regs)) != 0)
		return false;
	UPT_IP(regs) = back;
	UPT_SP(regs) += sizeof(back);
	lab_execute_vsyscall(regs, numbers[at / LAB_VSYSCALL_BYTES]);
	return true;
}
