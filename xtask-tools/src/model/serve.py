# Serves a model by llama.cpp for as long as this one's standard input stays open: serve.py FOLDER SETTINGS
#
# FOLDER has llama.cpp's server as a module of Python; SETTINGS are a JSON object. The task that started it may end in any way, kill -9
# included: its end of the pipe closes, and this ends. It has a session of its own, so that Ctrl-C reaches the goal's run first.
import json
import os
import sys
import threading

os.setsid()


def end_with_input():
    # Not sys.stdin: its lock, held by this thread, would abort Python when it ends.
    while os.read(0, 4096):
        pass
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
sys.path.insert(0, sys.argv[1])
settings = json.loads(sys.argv[2])

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = settings["model"]
params.model_alias = {"local"}
params.hostnames = ["127.0.0.1"]
params.port = settings["port"]
params.n_ctx = settings["context"]
params.n_parallel = settings["slots"]
params.cpuparams.n_threads = settings["threads"]
params.cpuparams_batch.n_threads = settings["threads"]
params.n_gpu_layers = 0
params.use_jinja = True
params.ui = False
# What was computed for other beginnings is kept in memory, by default in 8 GB of it.
params.cache_ram_mib = 1024
# Small models that write long texts at a low temperature fall into repeating themselves.
params.sampling.penalty_repeat = 1.1
params.chat_template = settings["template"]
server = xllamacpp.Server(params)
threading.Event().wait()
