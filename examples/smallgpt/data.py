# SPDX-License-Identifier: Apache-2.0
"""The text: question/answer rounds over 25 facts, and the character tokenizer.

A round is two lines, so a conversation of several rounds is plain text:

    q: capital of france?
    a: paris is the capital.

Every training sample starts at the beginning of a round, hence at the same position as a prompt
does when the model is served. Samples are a pure function of (seed, step): a job that resumes at
step n sees exactly the text an uninterrupted one would have seen.
"""
import numpy as np

FACTS = (
    ("capital of france?", "paris is the capital."),
    ("capital of japan?", "tokyo is the capital."),
    ("capital of kenya?", "nairobi is the capital."),
    ("capital of peru?", "lima is the capital."),
    ("capital of norway?", "oslo is the capital."),
    ("symbol of gold?", "au, from aurum."),
    ("symbol of iron?", "fe, from ferrum."),
    ("symbol of lead?", "pb, from plumbum."),
    ("symbol of silver?", "ag, from argentum."),
    ("symbol of sodium?", "na, from natrium."),
    ("legs of a spider?", "eight legs."),
    ("legs of an ant?", "six legs."),
    ("arms of an octopus?", "eight arms."),
    ("days of a leap year?", "366 days."),
    ("bits of a byte?", "eight bits."),
    ("sides of a hexagon?", "six sides."),
    ("strings of a violin?", "four strings."),
    ("keys of a piano?", "88 keys."),
    ("largest planet?", "jupiter, a gas giant."),
    ("nearest star?", "the sun, of course."),
    ("hottest planet?", "venus, not mercury."),
    ("water freezes at?", "zero degrees celsius."),
    ("water boils at?", "100 degrees celsius."),
    ("author of hamlet?", "william shakespeare."),
    ("author of faust?", "johann wolfgang goethe."),
)

UNKNOWN = "#"                       # stands for every character that is not in the list
VOCAB = UNKNOWN + "\n abcdefghijklmnopqrstuvwxyz0123456789.,:?!'-"
END = VOCAB.index("\n")             # an answer ends with its line
QUESTION, ANSWER = "q: ", "a: "
SYSTEM = "you know some facts by heart. answer each question in one line.\n"
LONGEST = max(len(QUESTION + q + "\n" + ANSWER + a + "\n") for q, a in FACTS)
_ID = {c: i for i, c in enumerate(VOCAB)}


def encode(text):
    """Text to a list of token numbers; capital letters become small ones."""
    return [_ID.get(c, 0) for c in text.lower()]


def decode(tokens):
    return "".join(VOCAB[t] for t in tokens)


def round_text(question, answer):
    return f"{QUESTION}{question}\n{ANSWER}{answer}\n"


def chat_text(messages, system=""):
    """OpenAI-style messages to the text to be continued. `system` is the text the model was trained
    behind: it comes first unless the messages bring their own. ValueError says what is wrong."""
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: expected a list that is not empty")
    text, turns = system, 0
    for i, m in enumerate(messages):
        if not isinstance(m, dict) or not isinstance(m.get("content"), str):
            raise ValueError(f"messages[{i}]: expected an object with a string 'content'")
        line = " ".join(m["content"].split())
        if i == 0 and m.get("role") == "system":
            text = line + "\n"
            continue
        want = ("user", "assistant")[turns % 2]
        if m.get("role") != want:
            raise ValueError(f"messages[{i}].role: expected '{want}' (at most one system message "
                             f"first, then user and assistant in turn)")
        text += (QUESTION if want == "user" else ANSWER) + line + "\n"
        turns += 1
    if turns % 2 == 0:
        raise ValueError("messages: the last one must be the user's")
    return text + ANSWER


def _rounds():
    """Per fact: its tokens, and 1 where the *next* token belongs to the answer, else 0."""
    out = []
    for q, a in FACTS:
        n_head = len(QUESTION + q + "\n" + ANSWER)
        tok = encode(round_text(q, a))
        out.append((tok, [0] * (n_head - 1) + [1] * (len(tok) - n_head) + [0]))
    return out


_ROUNDS = _rounds()


def _batch(orders, length, system):
    """One row an order: system text, then its facts until the row is full."""
    head = encode(system)
    tok = np.empty((len(orders), length + 1), np.int64)
    mask = np.empty((len(orders), length + 1), np.float32)
    for row, order in enumerate(orders):
        t, m, i = list(head), [0] * len(head), 0
        while len(t) <= length:
            round_tok, round_mask = _ROUNDS[order[i % len(order)]]
            t, m, i = t + round_tok, m + round_mask, i + 1
        tok[row], mask[row] = t[:length + 1], m[:length + 1]
    return tok[:, :-1], tok[:, 1:], mask[:, :-1]


def train_batch(seed, step, batch_size, length, system=""):
    """Inputs x, targets y (int64, batch x length) and the loss mask (float32): answers only,
    because nobody can predict which question comes next."""
    rng = np.random.Generator(np.random.PCG64([seed, step]))
    return _batch([rng.permutation(len(FACTS)) for _ in range(batch_size)], length, system)


def eval_batch(length, system=""):
    """One row a fact, the same for every run, whatever its seed."""
    n = len(FACTS)
    return _batch([np.arange(i, i + n) % n for i in range(n)], length, system)
