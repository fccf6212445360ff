"""Modes that a program switches: grad, autocast, inference, default dtype; left by exceptions, nested, used as decorators."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.constructs import Construct, plant
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

MODES: tuple[Construct, ...] = (
    ("no_grad_nested", "with torch.no_grad():\n    a = torch.is_grad_enabled()\n    with torch.enable_grad():\n        b = torch.is_grad_enabled()\n    c = torch.is_grad_enabled()\n{r} = (a, b, c, torch.is_grad_enabled())", "{r}"),
    ("set_grad_toggle", "before = torch.is_grad_enabled()\ntorch.set_grad_enabled(False)\n{r} = {v} * 2\ninside = torch.is_grad_enabled()\ntorch.set_grad_enabled(before)", "({r}, inside)"),
    ("set_grad_left_off", "torch.set_grad_enabled(False)\n{r} = {v} * 2", "({r}, torch.is_grad_enabled())"),
    ("no_grad_decorator", "@torch.no_grad()\ndef f(x):\n    return x * 3, torch.is_grad_enabled()\n{r} = f({v})", "{r}"),
    ("no_grad_bare_decorator", "@torch.no_grad\ndef f(x):\n    return x * 3, torch.is_grad_enabled()\n{r} = f({v})", "{r}"),
    ("no_grad_exception", "try:\n    with torch.no_grad():\n        raise KeyError('x')\nexcept KeyError:\n    {r} = torch.is_grad_enabled()", "{r}"),
    ("no_grad_generator", "@torch.no_grad()\ndef g(x):\n    yield torch.is_grad_enabled()\n    yield x * 2\n{r} = (list(g({v})), torch.is_grad_enabled())", "{r}"),
    ("no_grad_return_inside", "def f(x):\n    with torch.no_grad():\n        return x + 1\n{r} = (f({v}), torch.is_grad_enabled())", "{r}"),
    ("inference_mode", "with torch.inference_mode():\n    t = {v} * 2\n    inside = torch.is_inference_mode_enabled()\n{r} = (t, inside, torch.is_inference_mode_enabled())", "{r}"),
    ("autocast", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    m = {v}.detach().float().reshape(-1, 1)[:4] @ torch.ones(1, 3)\n    on = torch.is_autocast_enabled('cpu')\n{r} = (m.dtype, m.float(), on, torch.is_autocast_enabled('cpu'))", "{r}"),
    ("autocast_nested_off", "x = {v}.detach().float().reshape(-1, 1)[:4]\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n    a = x @ torch.ones(1, 2)\n    with torch.autocast('cpu', enabled=False):\n        b = x @ torch.ones(1, 2)\n    c = x + 1\n{r} = (a.dtype, b, c, b.dtype)", "{r}"),
    ("autocast_exception", "try:\n    with torch.autocast('cpu', dtype=torch.bfloat16):\n        torch.ones(2, 2) @ torch.ones(2, 2)\n        raise ValueError('x')\nexcept ValueError:\n    {r} = torch.is_autocast_enabled('cpu'), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype", "{r}"),
    ("autocast_decorator", "@torch.autocast('cpu', dtype=torch.bfloat16)\ndef f(x):\n    return x @ torch.ones(1, 2)\n{r} = f({v}.detach().float().reshape(-1, 1)[:3]).dtype", "{r}"),
    ("autocast_dtype", "with torch.autocast('cpu', dtype=torch.float16):\n    d = torch.get_autocast_dtype('cpu')\n    h = (torch.ones(2, 2) @ torch.ones(2, 2)).dtype\n{r} = (d, h, torch.get_autocast_dtype('cpu'))", "{r}"),
    ("autocast_manual", "old = torch.is_autocast_enabled('cpu')\ntorch.set_autocast_enabled('cpu', True)\nt = (torch.ones(2, 2) @ torch.ones(2, 2)).dtype\ntorch.set_autocast_enabled('cpu', old)\n{r} = (t, torch.is_autocast_enabled('cpu'))", "{r}"),
    ("default_dtype", "old = torch.get_default_dtype()\ntorch.set_default_dtype(torch.float64)\nt = torch.ones(2) * 1.5\nu = torch.tensor([1.0]).dtype\ntorch.set_default_dtype(old)\n{r} = (t, u, torch.get_default_dtype(), torch.ones(1).dtype)", "{r}"),
    ("default_dtype_python_scalar", "old = torch.get_default_dtype()\ntorch.set_default_dtype(torch.float64)\nt = {v}.to(torch.int64) / 2\nu = {v}.to(torch.int64) * 1.5\ntorch.set_default_dtype(old)\n{r} = (t, u)", "{r}"),
    ("device_context", "with torch.device('cpu'):\n    t = torch.ones(2)\nwith torch.device('meta'):\n    m = torch.ones(2)\n{r} = (t, m.device.type, torch.ones(1).device.type)", "{r}"),
    ("deterministic", "old = torch.are_deterministic_algorithms_enabled()\ntorch.use_deterministic_algorithms(True)\ninside = torch.are_deterministic_algorithms_enabled()\nt = torch.empty(3)\ntorch.use_deterministic_algorithms(old)\n{r} = (inside, torch.are_deterministic_algorithms_enabled(), {v} + 1)", "{r}"),
    ("saved_tensor_hooks", "log = []\nwith torch.autograd.graph.saved_tensors_hooks(lambda x: (log.append(1), x)[1], lambda x: x):\n    t = {v}.detach().float().requires_grad_() * 2\n    u = t * t\n{r} = (u.detach(), len(log))", "{r}"),
    ("grad_mode_object", "ctx = torch.no_grad()\nctx.__enter__()\na = torch.is_grad_enabled()\nctx.__exit__(None, None, None)\n{r} = (a, torch.is_grad_enabled())", "{r}"),
    ("grad_mode_in_loop", "{r} = []\nfor flag in (True, False, True):\n    with torch.set_grad_enabled(flag):\n        {r}.append(torch.is_grad_enabled())", "({r}, torch.is_grad_enabled())"),
    ("requires_grad_flags", "a = {v}.detach().float()\nwith torch.no_grad():\n    b = a.requires_grad_() * 2\nc = a * 2\nd = c.detach()\n{r} = (b.requires_grad, c.requires_grad, d.requires_grad, a.is_leaf, c.is_leaf)", "{r}"),
    ("view_under_no_grad", "a = {v}.detach().float().clone().requires_grad_()\nb = a * 1\nwith torch.no_grad():\n    w = b.view(-1)\n    b.add_(1)\n{r} = (w.requires_grad, b.requires_grad, b.detach(), w.detach())", "{r}"),
    ("precision_setting", "old = torch.get_float32_matmul_precision()\ntorch.set_float32_matmul_precision('high')\ninside = torch.get_float32_matmul_precision()\ntorch.set_float32_matmul_precision(old)\n{r} = (inside, torch.get_float32_matmul_precision())", "{r}"),
    ("num_threads", "{r} = (torch.get_num_threads() > 0, torch.get_default_dtype(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled())", "{r}"),
    ("forward_ad", "import torch.autograd.forward_ad as fwAD\nwith fwAD.dual_level():\n    d = fwAD.make_dual({v}.detach().float(), torch.ones_like({v}.detach().float()))\n    o = d * d\n    {r} = fwAD.unpack_dual(o).tangent", "{r}"),
    ("func_grad", "{r} = (torch.func.grad(lambda x: (x * x).sum())({v}.detach().float()), torch.func.jvp(lambda x: x * 3, ({v}.detach().float(),), (torch.ones_like({v}.detach().float()),))[1])", "{r}"),
    ("func_vmap_in_place", "def f(x):\n    y = x.clone()\n    y.add_(1)\n    return y * 2\n{r} = torch.vmap(f)({v}.detach().float().reshape(-1, 1))", "{r}"),
    ("func_vmap_dims", "x = {v}.detach().float().flatten()[:3]\n{r} = (torch.vmap(lambda a, b: a * b, in_dims=(0, None))(x, torch.tensor(2.0)), torch.vmap(lambda a: (a, a.sum()), out_dims=(-1, 0))(x.expand(2, 3)))", "{r}"),
    ("func_vjp", "o, pull = torch.func.vjp(lambda x: x * x + 1, {v}.detach().float())\n{r} = (o, pull(torch.ones_like(o))[0])", "{r}"),
    ("func_hessian", "{r} = torch.func.hessian(lambda x: (x ** 3).sum())({v}.detach().float().flatten()[:2])", "{r}"),
    ("func_jacrev", "{r} = torch.func.jacrev(lambda x: x[:2] * x[1])({v}.detach().float().flatten()[:3])", "{r}"),
    ("functional_call", "m = torch.nn.Linear(2, 2)\nw = torch.eye(2) * 3\n{r} = torch.func.functional_call(m, {{'weight': w, 'bias': torch.zeros(2)}}, torch.ones(1, 2))", "{r}"),
    ("cond", "{r} = torch.cond({v}.detach().float().sum() > 0, lambda x: x + 1, lambda x: x - 1, ({v}.detach().float(),))", "{r}"),
    ("where_branch", "p = {v}.detach().float().sum() > 0\n{r} = torch.where(p, {v}, -{v}) if {v}.dtype != torch.bool else {v}", "{r}"),
)  # fmt: skip


@mutator("modes_inside", "modes", compiles=False)
def modes_inside(subject: Subject, draw: Draw) -> str | None:
    """Modes entered, left, nested and read inside the program."""
    return plant(subject, draw, MODES)


OUTSIDE = (
    ("autocast", "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        result = fn(*inputs)\n"), ("no_grad", "    with torch.no_grad():\n        result = fn(*inputs)\n"), ("inference", "    with torch.inference_mode():\n        result = fn(*inputs)\n"),
    ("double", "    torch.set_default_dtype(torch.float64)\n    try:\n        result = fn(*inputs)\n    finally:\n        torch.set_default_dtype(torch.float32)\n"), ("anomaly", "    with torch.autograd.set_detect_anomaly(True):\n        result = fn(*inputs)\n"),
    ("deterministic", "    torch.use_deterministic_algorithms(True, warn_only=True)\n    result = fn(*inputs)\n    torch.use_deterministic_algorithms(False)\n"), ("grad_off_on", "    with torch.no_grad():\n        first = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n    result = first, fn(*inputs)\n"),
)  # fmt: skip


@mutator("modes_outside", "modes")
def modes_outside(subject: Subject, draw: Draw) -> str | None:
    """The whole call under a mode."""
    word, body = draw.choice(OUTSIDE)
    code = f"def drive(fn, inputs):\n{body}    return result, torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled('cpu')\n"
    return word if subject.set_drive(code) else None


@mutator("mode_left_by_error", "modes", compiles=False)
def mode_left_by_error(subject: Subject, draw: Draw) -> str | None:
    """An exception leaves the program from inside a mode; the caller catches it and looks at the modes, then computes."""
    if subject.drive is not None:
        return None
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    mode = draw.choice(["torch.autocast('cpu', dtype=torch.bfloat16)", "torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)", "torch.autocast('cpu', enabled=False)"])
    fault = draw.choice([f"{v.name}.index_select(0, torch.tensor([{v.shape[0] + 5}]))", f"{v.name}.view(-1, 97)", "raise ValueError('wrong')", f"torch.ones({v.shape[0]}) + torch.ones({v.shape[0] + 1})", "{}['missing']"])
    subject.insert(site, f"with {mode}:\n    {fault}")
    subject.set_drive(
        "def drive(fn, inputs):\n    try:\n        result = fn(*inputs)\n    except Exception as error:\n        result = type(error).__name__\n"
        "    seen = (torch.is_grad_enabled(), torch.is_autocast_enabled('cpu'), torch.is_inference_mode_enabled(), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype)\n    torch.set_autocast_enabled('cpu', False)\n    return result, seen\n"
    )
    if draw.chance(0.4):
        subject.configure(fullgraph=True)
    return mode.split("(")[0].removeprefix("torch.")
