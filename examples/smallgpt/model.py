# SPDX-License-Identifier: Apache-2.0
"""A small GPT in numpy, float32: token + position table, layers of (RMS norm, causal attention,
RMS norm, ReLU network), RMS norm, output matrix. Gradients by hand, Adam, a key/value cache.

Everything heavy is a matrix product, so nearly all of its time is spent in the BLAS below numpy:
that makes the BLAS a component whose change can be seen. `weights` is a dict in a fixed order.
Shapes in comments: B samples, T tokens, D width, H heads, V vocabulary.
"""
import hashlib
import json
import os
import zipfile

import numpy as np

EPS = np.float32(1e-5)
MASKED = np.float32(-1e9)


def init(conf):
    """Fresh weights from conf: dim, layers, heads, context, vocab, seed."""
    rng = np.random.Generator(np.random.PCG64([conf["seed"], 1 << 32]))
    d, v = conf["dim"], conf["vocab"]

    def normal(rows, cols, std):
        return (rng.standard_normal((rows, cols)) * std).astype(np.float32)

    w = {"tok": normal(v, d, 0.1), "pos": normal(conf["context"], d, 0.1)}
    for i in range(conf["layers"]):
        w[f"{i}.norm1"] = np.ones(d, np.float32)
        w[f"{i}.qkv"] = normal(d, 3 * d, d ** -0.5)
        w[f"{i}.out"] = normal(d, d, (2 * conf["layers"] * d) ** -0.5)
        w[f"{i}.norm2"] = np.ones(d, np.float32)
        w[f"{i}.up"] = normal(d, 4 * d, (2 / d) ** 0.5)
        w[f"{i}.down"] = normal(4 * d, d, (2 * conf["layers"] * 4 * d) ** -0.5)
    w["norm"] = np.ones(d, np.float32)
    w["head"] = normal(d, v, 0.1 * d ** -0.5)
    return w


def digest(w):
    """SHA-256 over names, shapes and bytes of all weights, in the order of init()."""
    h = hashlib.sha256()
    for name, a in w.items():
        h.update(f"{name} {a.shape}\n".encode())
        h.update(np.ascontiguousarray(a, "<f4").tobytes())
    return h.hexdigest()


# --- forward and backward -------------------------------------------------------------------

def _norm(x, g):
    r = 1 / np.sqrt(np.einsum("...d,...d->...", x, x)[..., None] / np.float32(x.shape[-1]) + EPS)
    n = x * r
    return n * g, (n, r)


def _norm_back(dy, g, saved):
    n, r = saved
    dg = np.einsum("nd,nd->d", dy, n)
    dn = dy * g
    return r * (dn - n * (np.einsum("nd,nd->n", dn, n)[:, None] / np.float32(n.shape[-1]))), dg


def _softmax(s):
    """In place, over the last axis."""
    s -= s.max(-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(-1, keepdims=True)
    return s


def _heads(x, b, t, h):
    """(B*T, D) -> (B, H, T, D/H), a view"""
    return x.reshape(b, t, h, -1).transpose(0, 2, 1, 3)


def _unheads(x):
    b, h, t, e = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b * t, h * e)


def _hidden(w, conf, x):
    """What the layers make of the tokens x -> (last hidden state, what the gradients need)."""
    (b, t), h, d = x.shape, conf["heads"], conf["dim"]
    scale = np.float32((d // h) ** -0.5)
    causal = np.triu(np.full((t, t), MASKED, np.float32), 1)
    z = (w["tok"][x] + w["pos"][:t]).reshape(b * t, d)
    saved = []
    for i in range(conf["layers"]):
        n1, s1 = _norm(z, w[f"{i}.norm1"])
        q, k, v = (_heads(m, b, t, h) for m in np.split(n1 @ w[f"{i}.qkv"], 3, axis=1))
        q *= scale
        p = q @ k.transpose(0, 1, 3, 2)
        p += causal
        _softmax(p)
        o = _unheads(p @ v)
        z = z + o @ w[f"{i}.out"]
        n2, s2 = _norm(z, w[f"{i}.norm2"])
        u = np.maximum(n2 @ w[f"{i}.up"], 0)
        z = z + u @ w[f"{i}.down"]
        saved.append((n1, s1, q, k, v, p, o, n2, s2, u))
    return z, saved


def predict(w, conf, x):
    """The likeliest next token at every position of x, given all before it: shape of x."""
    z, _ = _hidden(w, conf, x)
    n, _ = _norm(z, w["norm"])
    return (n @ w["head"]).argmax(axis=1).reshape(x.shape)


def loss_and_grad(w, conf, x, y, mask, grad=True):
    """Mean loss over the tokens where mask is 1 -> (loss, gradients or None)."""
    (b, t), h, d = x.shape, conf["heads"], conf["dim"]
    scale = np.float32((d // h) ** -0.5)
    z, saved = _hidden(w, conf, x)
    # The output matrix only where a loss is asked for: a third of all tokens.
    at = np.flatnonzero(mask)
    n, s = _norm(z[at], w["norm"])
    probs = _softmax(n @ w["head"])
    want, rows = y.reshape(-1)[at], np.arange(len(at))
    loss = float(-np.log(probs[rows, want] + np.float32(1e-30)).mean(dtype=np.float64))
    if not grad:
        return loss, None

    g = {}
    dl = probs
    dl[rows, want] -= 1
    dl /= np.float32(len(at))
    g["head"] = n.T @ dl
    dn, g["norm"] = _norm_back(dl @ w["head"].T, w["norm"], s)
    dz = np.zeros_like(z)
    dz[at] = dn
    for i in reversed(range(conf["layers"])):
        n1, s1, q, k, v, p, o, n2, s2, u = saved[i]
        g[f"{i}.down"] = u.T @ dz
        du = dz @ w[f"{i}.down"].T
        du *= u > 0
        g[f"{i}.up"] = n2.T @ du
        dn, g[f"{i}.norm2"] = _norm_back(du @ w[f"{i}.up"].T, w[f"{i}.norm2"], s2)
        dz = dz + dn
        g[f"{i}.out"] = o.T @ dz
        do = dz @ w[f"{i}.out"].T
        rows = np.einsum("nhe,nhe->nh", do.reshape(b * t, h, -1), o.reshape(b * t, h, -1))
        do = _heads(do, b, t, h)
        dv = p.transpose(0, 1, 3, 2) @ do
        ds = do @ v.transpose(0, 1, 3, 2)
        ds -= rows.reshape(b, t, h).transpose(0, 2, 1)[..., None]   # = sum over j of ds * p
        ds *= p
        dqkv = np.concatenate([_unheads(ds @ k) * scale, _unheads(ds.transpose(0, 1, 3, 2) @ q),
                               _unheads(dv)], axis=1)
        g[f"{i}.qkv"] = n1.T @ dqkv
        dn, g[f"{i}.norm1"] = _norm_back(dqkv @ w[f"{i}.qkv"].T, w[f"{i}.norm1"], s1)
        dz = dz + dn
    g["pos"] = np.zeros_like(w["pos"])
    g["pos"][:t] = dz.reshape(b, t, d).sum(0)
    onehot = np.zeros((b * t, conf["vocab"]), np.float32)     # np.add.at takes ten times longer
    onehot[np.arange(b * t), x.reshape(-1)] = 1
    g["tok"] = onehot.T @ dz
    return loss, g


def adam(w, g, m, v, step, lr, b1=0.9, b2=0.98, eps=1e-8):
    """One Adam step in place (Kingma and Ba, 2014), step counted from 1. Gradient norm cut at 1."""
    norm = float(np.sqrt(sum(float(np.vdot(a, a)) for a in g.values())))
    cut = np.float32(min(1.0, 1.0 / (norm + 1e-12)))
    rate = np.float32(lr * (1 - b2 ** step) ** 0.5 / (1 - b1 ** step))
    for name, a in w.items():
        d = g[name] * cut
        m[name] += np.float32(1 - b1) * (d - m[name])
        v[name] += np.float32(1 - b2) * (d * d - v[name])
        a -= rate * m[name] / (np.sqrt(v[name]) + np.float32(eps))


# --- generation -----------------------------------------------------------------------------

class Cache:
    """Keys and values of one conversation. feed() takes the next tokens (the whole prompt first:
    a matrix product; then one by one: vector products) and gives the logits after the last one."""

    def __init__(self, w, conf):
        h, e = conf["heads"], conf["dim"] // conf["heads"]
        self.w, self.conf, self.used = w, conf, 0
        self.keys = np.empty((conf["layers"], h, conf["context"], e), np.float32)
        self.values = np.empty_like(self.keys)

    def feed(self, tokens):
        w, conf, t, start = self.w, self.conf, len(tokens), self.used
        h, end = conf["heads"], start + t
        if t == 0 or end > conf["context"]:
            raise ValueError(f"{end} tokens do not fit into a context of {conf['context']}")
        scale = np.float32((conf["dim"] // h) ** -0.5)
        z = w["tok"][tokens] + w["pos"][start:end]
        for i in range(conf["layers"]):
            n, _ = _norm(z, w[f"{i}.norm1"])
            q, k, v = (_heads(m, 1, t, h)[0] for m in np.split(n @ w[f"{i}.qkv"], 3, axis=1))
            self.keys[i, :, start:end], self.values[i, :, start:end] = k, v
            p = (q * scale) @ self.keys[i, :, :end].transpose(0, 2, 1)
            if t > 1:
                p += np.triu(np.full((t, end), MASKED, np.float32), start + 1)
            o = _softmax(p) @ self.values[i, :, :end]
            z = z + _unheads(o[None]) @ w[f"{i}.out"]
            n, _ = _norm(z, w[f"{i}.norm2"])
            z = z + np.maximum(n @ w[f"{i}.up"], 0) @ w[f"{i}.down"]
        self.used = end
        n, _ = _norm(z[-1:], w["norm"])
        return (n @ w["head"])[0]


def generate(w, conf, tokens, max_tokens, end=None):
    """Greedy: yields token numbers, at most max_tokens, the end token (not yielded) stops it."""
    cache = Cache(w, conf)
    logits = cache.feed(tokens)
    for i in range(max_tokens):
        token = int(logits.argmax())
        if token == end:
            return
        yield token
        if i + 1 < max_tokens:
            logits = cache.feed([token])


# --- checkpoints ----------------------------------------------------------------------------

class BadCheckpoint(Exception):
    """The message names the file and what is wrong with it."""


def save(path, conf, w, state=None, m=None, v=None):
    """Write a checkpoint that is there whole or not at all: temporary file, fsync, rename, fsync
    of the folder. The bytes depend on the values only (no time stamps), so equal models have
    equal files. It is an .npz file: np.load() reads it too."""
    arrays = {"w." + k: a for k, a in w.items()}
    arrays.update({"m." + k: a for k, a in (m or {}).items()})
    arrays.update({"v." + k: a for k, a in (v or {}).items()})
    meta = json.dumps({"format": 1, "conf": conf, "state": state or {}, "weights": digest(w)},
                      sort_keys=True)
    arrays["meta"] = np.frombuffer(meta.encode(), np.uint8)
    temp = f"{path}.tmp{os.getpid()}"
    try:
        with open(temp, "wb") as f:
            with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
                for name, a in arrays.items():
                    with z.open(zipfile.ZipInfo(name + ".npy"), "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, np.ascontiguousarray(a),
                                                  allow_pickle=False)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temp, path)
    except BaseException:
        if os.path.exists(temp):
            os.unlink(temp)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(path):
    """-> conf, weights, state, m, v (the last two empty in a file made for serving)."""
    parts = {"w": {}, "m": {}, "v": {}}
    try:
        with np.load(path, allow_pickle=False) as z:
            meta = json.loads(z["meta"].tobytes())
            if meta.get("format") != 1:
                raise BadCheckpoint(f"{path}: format {meta.get('format')}, expected 1")
            for name in z.files:
                if name != "meta":
                    part, _, key = name.partition(".")
                    parts[part][key] = z[name]
        conf = meta["conf"]
        shapes = {k: a.shape for k, a in init(conf).items()}
        for part, arrays in parts.items():
            if (arrays or part == "w") and {k: a.shape for k, a in arrays.items()} != shapes:
                raise BadCheckpoint(f"{path}: its '{part}' arrays do not fit its own settings")
        if digest(parts["w"]) != meta["weights"]:
            raise BadCheckpoint(f"{path}: the weights do not have the digest written beside them")
    except (BadCheckpoint, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as e:      # zipfile, numpy and json each have their own set
        raise BadCheckpoint(f"{path}: not a readable checkpoint ({type(e).__name__}: {e})") from e
    return conf, parts["w"], meta["state"], parts["m"], parts["v"]


def mapped_blas():
    """Files of the linear algebra libraries that this process has really mapped (Linux)."""
    names = ("libblas", "libblis", "libopenblas", "libatlas", "liblapack", "libmkl")
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as f:
            paths = {line.split(maxsplit=5)[5].strip() for line in f if "/" in line}
    except OSError:
        return []
    return sorted(p for p in paths if os.path.basename(p).startswith(names))
