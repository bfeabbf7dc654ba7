# SPDX-License-Identifier: Apache-2.0
"""The kernel strings of a Python module, and the requests that its own code makes of them.

A module is not imported: its statements are run one by one with every import but a few of the standard
library's, numpy and those of the same package replaced by an Unknown, and those that an Unknown breaks are left out.
A call of a maker (RawModule, SourceModule ...) is not made: its arguments are evaluated where they are known.
"""
import ast
import builtins
import importlib
import pathlib

import numpy

LIBRARIES = {"functools", "itertools", "math", "operator", "re", "string", "textwrap", "numpy"}
MAKERS = {"RawModule", "RawKernel", "SourceModule", "DynamicSourceModule"}
TYPE_NAMES = {"float64": "double", "float32": "float", "float16": "float16", "complex128": "complex<double>",
              "complex64": "complex<float>", "bool": "bool", "int8": "signed char", "int16": "short",
              "int32": "int", "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short",
              "uint32": "unsigned int", "uint64": "unsigned long long"}


class Unresolved(Exception):
    pass


class Unknown:
    """What is known when the program runs."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return False if name == "is_hip" else Unknown()

    def __call__(self, *_, **__):
        return Unknown()

    def __getitem__(self, _):
        return Unknown()

    def _refuse(self, *_):
        raise Unresolved

    __str__ = __format__ = __iter__ = __bool__ = __index__ = __add__ = __radd__ = __mod__ = __len__ = _refuse
    __mul__ = __rmul__ = __eq__ = __sub__ = __rsub__ = _refuse
    __hash__ = object.__hash__


class ArrayPackage(Unknown):
    """cupy: its names of types are numpy's."""

    def __getattr__(self, name):
        known = getattr(numpy, name, None)
        return known if isinstance(known, type) else Unknown()


def typename(dtype):
    return TYPE_NAMES[numpy.dtype(dtype).name]


class Module:
    def __init__(self, path, root, cache):
        self.path, self.root, self.cache = path, root, cache
        cache[path] = self
        asks = {"input": Unknown(), "print": Unknown(), "open": Unknown()}
        self.names = {"__name__": path.stem, "__file__": str(path), "__builtins__": vars(builtins) | asks}
        self.requests = []
        self.tree = ast.parse(path.read_text())
        self._run(self.tree.body, self.names)

    def kernel_strings(self):
        """(line, text, plain) of each literal with a kernel in it; `plain` where nothing is filled in."""
        skipped = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.JoinedStr):
                skipped.update(id(part) for part in ast.walk(node) if part is not node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                skipped.add(id(node.value))  # a docstring
        for node in ast.walk(self.tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if "__global__" in text:
                yield node.lineno, text

    def _run(self, statements, names):
        for statement in statements:
            self._step(statement, names)

    def _step(self, node, names):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import(node, names)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._function(node, names)
        if isinstance(node, ast.ClassDef):
            inner = dict(names)
            self._run(node.body, inner)
            names[node.name] = Unknown()
            return None
        for field in ("test", "iter", "items", "value", "exc", "targets"):
            part = getattr(node, field, None)
            for expression in part if isinstance(part, list) else [part]:
                if isinstance(expression, ast.AST):
                    self._find_requests(expression, names)
        if isinstance(node, ast.For):
            try:
                first = next(iter(self._value(node.iter, names)))
                names["_first"] = first
                self._execute(ast.Assign([node.target], ast.Name("_first", ast.Load()), lineno=node.lineno), names)
            except Exception:
                self._forget(node.target, names)
        bodies = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
        bodies += [handler.body for handler in getattr(node, "handlers", [])]
        if isinstance(node, ast.If):
            try:
                bodies = [node.body if self._value(node.test, names) else node.orelse]
            except Exception:
                pass  # both
        if any(bodies):
            for body in bodies:
                self._run(body, names)
            return None
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            try:
                self._execute(node, names)
            except Exception:
                for target in targets:
                    self._forget(target, names)
        return None

    def _forget(self, target, names):
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                names[node.id] = Unknown()

    def _function(self, node, names):
        node.decorator_list = []
        try:
            self._execute(node, names)
        except Exception:
            names[node.name] = Unknown()
        inner = dict(names)
        arguments = node.args
        given = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        for argument in given:
            inner[argument.arg] = Unknown()
        defaults = list(zip((arguments.posonlyargs + arguments.args)[::-1], arguments.defaults[::-1]))
        for argument, default in defaults + list(zip(arguments.kwonlyargs, arguments.kw_defaults)):
            try:
                inner[argument.arg] = self._value(default, names)
            except Exception:
                pass
        self._run(node.body, inner)

    def _import(self, node, names):
        source = getattr(node, "module", None)
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            name = source or alias.name
            top = name.split(".")[0]
            value = Unknown()
            if top == "cupy" and source is None:
                value = ArrayPackage()
            elif alias.name in ("get_typename", "_get_typename"):
                value = typename
            elif top in LIBRARIES:
                try:
                    found = importlib.import_module(name if source or alias.asname else top)
                    value = getattr(found, alias.name) if source else found
                except Exception:
                    pass
            elif source:
                value = self._of_package(source, alias.name)
            names[bound] = value

    def _of_package(self, source, name):
        path = (self.root / source.replace(".", "/")).with_suffix(".py")
        if path not in self.cache and path.exists():
            Module(path, self.root, self.cache)
        found = self.cache.get(path)
        if found is not None and name in found.names:
            return found.names[name]
        member = self.root / source.replace(".", "/") / (name + ".py")
        if member.exists() and (member not in self.cache):
            Module(member, self.root, self.cache)
        if member in self.cache:
            holder = Unknown()
            holder.__dict__.update(self.cache[member].names)
            return holder
        return Unknown()

    def _value(self, node, names):
        return eval(compile(ast.fix_missing_locations(ast.Expression(node)), str(self.path), "eval"), names)

    def _execute(self, node, names):
        exec(compile(ast.fix_missing_locations(ast.Module([node], [])), str(self.path), "exec"), names)

    def _find_requests(self, expression, names):
        for node in ast.walk(expression):
            if not isinstance(node, ast.Call):
                continue
            maker = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if maker not in MAKERS:
                continue
            values = {}
            positions = ["code", "name", "options"] if maker == "RawKernel" else ["code", "options"]
            given = list(zip(positions, node.args)) + [(word.arg, word.value) for word in node.keywords]
            for name, value in given:
                try:
                    known = self._value(value, names)
                    values[name] = list(known) if isinstance(known, tuple) else known
                except Exception:
                    pass
            if isinstance(values.get("code"), str):
                self.requests.append({"maker": maker, "line": node.lineno, **values})


def read_modules(folder, root):
    cache = {}
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
        if path not in cache and "__global__" in path.read_text():
            Module(path, root, cache)
    return {path: module for path, module in sorted(cache.items()) if path.is_relative_to(folder)}


def fixed_lines(text):
    """Those in which nothing is filled in."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not any(mark in line for mark in "{}%$")]


def holds(code, text):
    if text in code:
        return True
    lines = fixed_lines(text)
    present = {line.strip() for line in code.splitlines()}
    return bool(lines) and all(line in present for line in lines)
