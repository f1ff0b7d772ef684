# Runs a program for as long as this one's standard input stays open: keep.py PROGRAM ARGUMENT...
#
# The task that started it may end in any way, kill -9 included: its end of the pipe closes, and the program is ended.
# The program gets a session of its own, so that Ctrl-C reaches the goal's run first and the model's server last.
import os
import subprocess
import sys
import threading

program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)


def end_with_input():
    # Not sys.stdin: its lock, held by this thread, would abort Python when it ends.
    while os.read(0, 4096):
        pass
    program.terminate()
    try:
        program.wait(5)
    except subprocess.TimeoutExpired:
        program.kill()


threading.Thread(target=end_with_input, daemon=True).start()
while True:
    try:
        sys.exit(program.wait())
    except KeyboardInterrupt:
        pass
