# Run by ctest: see CMakeLists.txt.

# run(<what> <command>...): leaves standard output in `output`; ends the test if the command fails.
macro(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result}):\n${output}${errors}")
  endif()
endmacro()

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${prefix} ${WORK}/consumer)
run("install" ${CMAKE_COMMAND} --install ${BUILD} --component runtime --prefix ${prefix})
run("configure" ${CMAKE_COMMAND} -S ${SOURCE}/test/Install/consumer -B ${WORK}/consumer -G ${GENERATOR}
  -D CMAKE_PREFIX_PATH=${prefix} -D EXAMPLE=${SOURCE}/runtime/examples/run.c
  -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
  -D CMAKE_C_FLAGS=${C_FLAGS} -D CMAKE_CXX_FLAGS=${CXX_FLAGS})
run("build" ${CMAKE_COMMAND} --build ${WORK}/consumer)

# Ones plus ones, 4 x 4 of them; then the same and ones again.
foreach(example run run_static)
  run("${example}" ${WORK}/consumer/${example} ${PROGRAM})
  if(NOT output STREQUAL "sum: sum 32\ndoubled: sum 48\n")
    message(FATAL_ERROR "${example} printed:\n${output}")
  endif()
endforeach()
run("moe-run" ${prefix}/bin/moe-run --version)

# An older and an unknown version are refused by name.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/test/Install/consumer -B ${WORK}/consumer -D WANTED=99
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE errors)
if(result EQUAL 0 OR NOT errors MATCHES "99")
  message(FATAL_ERROR "find_package(MoE 99) did not fail:\n${errors}")
endif()
