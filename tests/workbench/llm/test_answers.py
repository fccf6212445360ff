"""Programs are found in whatever stands around them, and what costs nothing is mended without asking again."""

import ast

import pytest

from workbench.llm.answers import mend, program_in

SEED = "import torch\n\n\ndef fn(x):\n    return x * 2\n\n\ndef get_inputs():\n    return [torch.arange(8.0)]\n"
CODE = "import torch\ndef fn(x):\n    return x + 1\ndef get_inputs():\n    return [torch.ones(3)]\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{CODE}```",
        f"Sure! Here:\n\n```py\n{CODE}```\nThis writes in place. ```x```",
        f"~~~python\n{CODE}~~~",
        f"```\n{CODE}\n```",
        f"  ```python\n{CODE}  ```",
        f"````python\n{CODE}````",
        f"```python\n{CODE}",
        CODE,
        f"<think>\n```python\nwrong = 1\ndef get_inputs(): fn\n```\n</think>\n```python\n{CODE}```",
        f"```bash\npip install torch\n```\n```python\n{CODE}```",
        f"First only the idea:\n```python\nx.add_(1)\n```\nThen all of it:\n```python\n{CODE}```",
        f"```python\r\n{CODE}```".replace("\n", "\r\n"),
        f"\ufeff```python\n{CODE}```",
        "\u200b```python\n\ufeff" + CODE.replace("x + 1", "x +\u2060 1") + "```",
        f"```python\n{CODE.replace('return', chr(27) + chr(0) + 'return')}```",
        f"```python\n{CODE}```\nOr shorter:\n```python\n{CODE.replace('+ 1', '+ 2')}```",
    ],
)
def test_program_is_found(answer):
    assert ast.dump(ast.parse(program_in(answer))) == ast.dump(ast.parse(CODE))


def test_program_in_two_blocks_is_put_together():
    first, second = CODE.split("def get_inputs")
    assert program_in(f"```python\n{first}```\nand\n```python\ndef get_inputs{second}```").replace("\n\n", "\n") == CODE


@pytest.mark.parametrize("answer", ["I cannot do that.", "```json\n{}\n```", "```python\nx = 1\n```", "<think>```python\n" + CODE, ""])
def test_no_program(answer):
    assert program_in(answer) is None


MENDS = {
    "imports": "def fn(x):\n    return F.relu(x) + math.pi\n\ndef get_inputs():\n    return [torch.ones(3)]\n",
    "names": "import torch\n\ndef f(x):\n    return x\n\ndef make_inputs():\n    return [torch.ones(3)]\n",
    "uncompiled": "import torch\n\n@torch.compile(dynamic=True)\ndef fn(x):\n    return x\n\nfn = torch.compile(fn)\n\ndef get_inputs():\n    return [torch.ones(3)]\n",
    "beside": CODE
    + "torch.manual_seed(0)\nout = fn(*get_inputs())\nprint(out)\nassert out is not None\nif __name__ == '__main__':\n    fn(1)\n",
    "prints": CODE.replace("    return x + 1", "    if len(x) > 1:\n        print(x)\n    print('done')\n    return x + 1"),
    "inputs": "import torch\n\ndef fn(x):\n    return x + 3\n",
    "list": "import torch\n\ndef fn(x):\n    return x\n\ndef get_inputs():\n    return torch.ones(3)\n",
    "device": "import torch\n\ndef fn(x):\n    return x.cuda()\n\ndef get_inputs():\n    return [torch.ones(3, device='cuda')]\n",
    "quotes": CODE.replace("x + 1", "x + len(“a”)"),
    "indent": "".join(f"    {line}\n" for line in CODE.splitlines()),
    "prompts": "".join(f">>> {line}\n" for line in CODE.splitlines()),
    "tail": CODE + "This program (written by me) adds one.\n",
}


@pytest.mark.parametrize("word", MENDS)
def test_mending_gives_a_program_that_keeps_the_contract(word):
    mended = mend(MENDS[word], SEED)
    assert word in mended.mends
    tree = ast.parse(mended.source)
    names = {s.name for s in tree.body if isinstance(s, ast.FunctionDef)}
    assert {"fn", "get_inputs"} <= names
    assert all(isinstance(s, ast.Import | ast.FunctionDef) for s in tree.body)
    assert "torch.compile" not in mended.source
    assert "cuda" not in mended.source
    if word == "imports":
        assert mended.source.startswith("import torch\nimport torch.nn.functional as F\nimport math\n")
    if word == "list":
        assert "return [torch.ones(3)]" in mended.source
    assert mend(mended.source, SEED).mends == ()


def test_what_is_right_is_left_alone_to_the_letter():
    text = "# a comment\n" + CODE
    assert mend(text, SEED).source == text
    assert mend("def broken(:\n", SEED).source == "def broken(:\n"
