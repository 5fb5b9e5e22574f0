"""Python that changes how later code in the same kernel is read: input transformers, handlers, other builtins."""

import ast
import re

from oi_tui.app.engine.policy.python_names import Aliases, constant_text

REREADING = frozenset({
    *("input_transformers_cleanup", "input_transformers_post", "input_transformer_manager", "input_transformers"),
    *("ast_transformers", "shell_handlers", "control_handlers", "input_splitter", "set_hook", "do_execute"),
    *("execute_request", "dispatch_shell", "register_magic_function", "register_magics", "ast_node_interactivity"),
    *("meta_path", "path_hooks", "settrace", "setprofile", "kernel_app"),
})  # fmt: skip
"""Attributes by which the interpreter of a kernel is changed, whatever they are taken from."""

IF_SET = frozenset({"run_cell", "run_cell_async", "run_code", "run_ast_nodes"})
"""The same where they are given another value."""

REREADING_MAGICS = frozenset({"alias", "alias_magic", "load_ext", "reload_ext", "autocall", "macro", "rehashx"})

_OF_ALL = re.compile(r"(?:builtins|__builtins__|sys\.modules|get_ipython\(\))\.")
_SETTERS = ("setattr", "delattr", "getattr")


def changes_reading(node: ast.AST, aliases: Aliases) -> bool:
    """Whether this part of a source does that."""
    match node:
        case ast.Attribute(attr=attr, ctx=ctx):
            if attr in REREADING:
                return True
            return not isinstance(ctx, ast.Load) and (
                attr in IF_SET or _OF_ALL.match(f"{aliases.full_name(node)}.") is not None
            )
        case ast.Subscript(value=table, ctx=ast.Store() | ast.Del()):
            return _is_shared(table, aliases)
        case ast.Call(func=ast.Attribute(attr="update" | "setdefault" | "pop" | "clear", value=table)):
            return _is_shared(table, aliases)
        case ast.Call(func=ast.Name(id=name), args=[owner, attribute, *_]) if name in _SETTERS:
            text = constant_text(attribute)
            return text in REREADING or (name != "getattr" and (text in IF_SET or _is_shared(owner, aliases)))
        case _:
            return False


def _is_shared(table: ast.expr, aliases: Aliases) -> bool:
    """Whether it is what all code of the kernel looks names up in."""
    match table:
        case ast.Call(func=ast.Name(id="vars"), args=[owner]):
            table = owner
        case _:
            pass
    return (
        isinstance(table, ast.Name | ast.Attribute | ast.Call)
        and _OF_ALL.match(f"{aliases.full_name(table)}.") is not None
    )
