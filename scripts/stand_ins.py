"""Executes Python files of projects that are not installed, with stand-ins for modules that are missing."""

import ast
import importlib.abc
import importlib.util
import sys
import types


class Meta(type):
    """The class of the stand-in: whatever is asked of it is the stand-in again."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *values, **named):
        # As a decorator it leaves the function as it is.
        is_decorator = len(values) == 1 and not named and isinstance(values[0], (types.FunctionType, type))
        return values[0] if is_decorator else cls

    def __iter__(cls):
        return iter(())

    def __getitem__(cls, key):
        return cls

    def __bool__(cls):
        return True

    def _same(cls, *_):
        return cls

    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __or__ = __and__ = __rmul__ = __ror__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = lambda cls, other: True


class StandIn(metaclass=Meta):
    """In place of all that a missing module has."""


class MissingModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that nothing else finds, but those whose names begin with one of `needed`, and no parts of installed packages."""

    def __init__(self, needed):
        self.needed = needed

    def find_spec(self, name, path=None, target=None):
        package = sys.modules.get(name.partition(".")[0])
        is_installed = "site-packages" in (getattr(package, "__file__", None) or "")
        is_missing = not is_installed and not name.startswith(self.needed)
        return importlib.util.spec_from_loader(name, self, is_package=True) if is_missing else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: getattr(StandIn, name)
        return module

    def exec_module(self, module):
        pass


def loaded(path, text, decorators):
    """The names that the statements of a file define, whose text is given. A statement that fails is tried without its decorators but for
    these, and then left out."""
    tree = ast.parse(text)
    names = {"__name__": path.stem, "__file__": str(path)}
    root = path.parent
    while (root / "__init__.py").exists():
        root = root.parent
    package = ".".join(path.parent.relative_to(root).parts)
    names["__package__"] = package or None
    sys.path.insert(0, str(root))
    for statement in tree.body:
        if isinstance(statement, (ast.Expr, ast.For, ast.While)):
            continue
        for _ in range(2):
            try:
                exec(compile(ast.Module([statement], []), str(path), "exec"), names)
                break
            except BaseException:
                # Configurations may depend on the GPU: a kernel is one without them too.
                of_statement = getattr(statement, "decorator_list", ())
                statement.decorator_list = [it for it in of_statement if ast.unparse(it) in decorators]
    return names
