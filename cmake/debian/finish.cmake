# SPDX-License-Identifier: Apache-2.0
#
# Makes of an installed tree one as Debian wants it: the folders of its zsh, documents in their places,
# what is compressed, and permissions that do not depend on the umask of who builds.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(documents ${root}/share/doc/orrery)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(MAKE_DIRECTORY ${documents})
file(COPY_FILE ${CPACK_ORRERY_SOURCE}/CHANGELOG.md ${documents}/changelog)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright)
file(MAKE_DIRECTORY ${root}/share/lintian/overrides)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides ${root}/share/lintian/overrides/orrery)
file(WRITE ${documents}/changelog.Debian "orrery (${version}) unstable; urgency=medium

  * Made from the sources by './dev package'; what has changed in them is in
    changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

file(GLOB compressed ${root}/share/man/man1/*.1 ${documents}/changelog*)
execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
