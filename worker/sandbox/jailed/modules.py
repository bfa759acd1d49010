"""Runs source text as a module that tracebacks can quote."""

import builtins
import linecache
import sys
import types


def new_module(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    module.__dict__["__builtins__"] = builtins
    return module


def compiled(source: str, file_name: str) -> types.CodeType:
    linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
    return compile(source, file_name, "exec", dont_inherit=True)


def run(code: types.CodeType, module: types.ModuleType) -> None:
    exec(code, module.__dict__)  # what the jail is for


def execute(source: str, file_name: str, module: types.ModuleType) -> None:
    run(compiled(source, file_name), module)


def forget(file_name: str, name: str) -> None:
    linecache.cache.pop(file_name, None)
    sys.modules.pop(name, None)
