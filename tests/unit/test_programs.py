"""Programs kept between processes: the same bits, never the wrong program, no harm from damaged files."""

import functools
import os
import subprocess
import sys
import threading
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import _jax_settings
from saltus.programs import ahead, brief_program, code, kept, lean, prepare, program, store, text, waiting
from saltus.programs.facts import remember
from saltus.programs.structure import FormError, describe, rebuild


class Pair(eqx.Module):
    a: jax.Array
    b: jax.Array
    name: str = eqx.field(static=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store of its own, which takes the functions of this file for code whose version is known."""
    monkeypatch.setattr(_jax_settings, "_programs", [tmp_path])
    monkeypatch.setattr(text, "KNOWN", text.KNOWN | {"tests"})
    return tmp_path


TRACED = []


def wave(x, turns):
    """A loop and a linear solve, as programs of saltus have them."""
    TRACED.append(turns)

    def step(i, y):
        return jnp.linalg.solve(jnp.eye(3) + 0.1 * jnp.outer(y, y), jnp.sin(y) + i)

    return {"end": jax.lax.fori_loop(0, turns, step, x), "turns": turns, "none": None, "both": (x, [x + 1.0])}


MADE = store.CODE if code.possible() else store.SUFFIX  # of what is kept of a program


@pytest.fixture
def only_traces(monkeypatch):
    """As with a version of JAX that does not hand out its code."""
    monkeypatch.setattr(code, "possible", lambda: False)


def traces() -> int:
    count = len(TRACED)
    TRACED.clear()
    return count


def test_a_later_process_reads_what_was_traced_and_gets_the_same_bits(folder):
    x = jnp.asarray([0.1, 0.2, 0.3])
    plain = eqx.filter_jit(wave)(x, 5)
    traces()
    first = program(wave)(x, 5)
    assert traces() == 1
    assert len(list(folder.glob(f"*{MADE}"))) == 1
    again = program(wave)(x, 5)  # knows nothing of the first, as a new process
    assert traces() == 0
    for result in (first, again):
        assert jax.tree.structure(result) == jax.tree.structure(plain)
        assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(plain), strict=True))


def test_other_numbers_use_the_same_program_and_other_choices_another(folder):
    compiled = program(wave)
    traces()
    compiled(jnp.zeros(3), 5)
    compiled(jnp.ones(3), 5)
    compiled(np.ones(3), 5)
    assert traces() == 1
    compiled(jnp.ones(3), 6)
    compiled(jnp.ones(3), 7)
    assert traces() == 2
    assert len(list(folder.glob(f"*{MADE}"))) == 3


DAMAGES = [lambda data: data[:-10], lambda data: b"something else", lambda data: b""]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_file_is_made_anew(folder, only_traces, damage):
    x = jnp.asarray([0.1, 0.2, 0.3])
    wanted = program(wave)(x, 5)
    assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])
    (path,) = folder.glob("*.program")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    traces()
    assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])
    assert traces() == 1
    assert store.unpack(path.read_bytes()) is not None


@pytest.mark.parametrize("damage", [*DAMAGES, lambda data: store.pack({"form": None}, b"no code")])
def test_damaged_or_foreign_machine_code_is_made_anew(folder, damage):
    x = jnp.asarray([0.1, 0.2, 0.3])
    wanted = program(wave)(x, 5)
    (path,) = folder.glob("*.code")
    path.write_bytes(damage(path.read_bytes()))
    traces()
    assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])
    assert traces() == 1
    assert store.unpack(path.read_bytes()) is not None


def test_machine_code_serves_with_the_same_bits_for_numbers_of_any_origin(folder):
    x = np.asarray([0.1, 0.2, 0.3])
    wanted = program(wave)(jnp.asarray(x), 5)
    traces()
    loaded = program(wave)
    for given in (x, jnp.asarray(x), loaded(x, 5)["both"][0]):  # the last is bound to its device
        result = loaded(given, 5)
        assert np.array_equal(result["end"], wanted["end"]) and result["both"][1][0].dtype == x.dtype
    assert traces() == 0


def many_ways(x):
    """Fusions of all kinds: of elements, of sums, of products of matrices, in loops and branches."""
    a = jnp.outer(x, x) + jnp.eye(len(x))
    b = jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(a @ y * (1.0 + i)), a)
    c = jax.lax.cond(b[0, 0] > 0.0, lambda y: jnp.sort(y @ a, axis=0), lambda y: jnp.cumsum(y, axis=1), b)
    return {"sum": jnp.sum(jnp.where(c > 0.1, jnp.sin(c), c * c)), "all": c.at[0].add(jnp.exp(x)), "set": b[1:, ::2]}


def test_code_is_kept_without_what_its_compiler_needed_and_gives_the_same_bits(folder, monkeypatch):
    if not (code.possible() and lean.possible()):
        pytest.skip("this version of jaxlib keeps its code in another form")
    x = np.linspace(0.1, 0.9, 64)
    first = jax.tree.leaves(program(many_ways)(x))
    small = [len(path.read_bytes()) for path in folder.glob("*.code")]
    again = jax.tree.leaves(program(many_ways)(x))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    for path in folder.glob("*.code"):
        path.unlink()
    monkeypatch.setattr(lean, "possible", lambda: False)
    program(many_ways)(x)
    assert small[0] < next(folder.glob("*.code")).stat().st_size


def test_code_of_another_form_is_kept_whole():
    for other in (b"", b"\x05abc", b"\x01a\x0a\x7f", b"\x01a\x08\x01", b"\x01a\x0a\x02\x08\x01", b"\x01a\xff\xff"):
        with pytest.raises(lean.OtherFormError):
            lean.lean(other)


def test_code_that_jax_had_kept_itself_is_not_handed_on(folder):
    with code.compiling() as anew:
        assert anew()
        jax.monitoring.record_event(code.FOUND)
        assert not anew()


def test_machine_code_of_another_processor_is_not_used(folder, monkeypatch):
    program(wave)(jnp.ones(3), 4)
    monkeypatch.setattr(code, "machine", lambda: "another")
    program(wave)(jnp.ones(3), 4)
    assert len(list(folder.glob("*.code"))) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_machine_code_that_others_may_have_written_is_not_run(folder, monkeypatch):
    program(wave)(jnp.ones(3), 4)
    (path,) = folder.glob("*.code")
    name = path.name.removesuffix(f"-{code.machine()}.code")
    assert code.read(folder, name) is not None
    path.chmod(0o666)
    assert code.read(folder, name) is None
    path.chmod(0o600)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert (code.read(folder, name) is None) == (path.stat().st_uid != 0)  # root may write anything anyway


def test_facts_are_found_once_and_by_the_form_of_what_is_given(folder):
    found = []

    def find():
        found.append(True)
        return [len(found), 7]

    given = jnp.ones(3)
    assert remember("sizes", given, find) == remember("sizes", 2.0 * given, find) == [1, 7]
    assert remember("sizes", jnp.ones(4), find) == [2, 7]
    (path, *_) = folder.glob("*.facts")
    path.write_bytes(store.pack(["words"], b""))
    assert len(remember("sizes", given, find)) == len(remember("sizes", jnp.ones(4), find)) == 2
    assert len(found) == 3


def test_a_whole_file_with_another_program_in_it_is_made_anew(folder, only_traces):
    x = jnp.asarray([0.1, 0.2, 0.3])
    wanted = program(wave)(x, 5)
    (path,) = folder.glob("*.program")
    path.write_bytes(store.pack({"class": ["os", "system"], "parts": []}, b"no program"))
    assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])


def test_code_of_a_user_is_compiled_but_not_kept(folder, monkeypatch):
    monkeypatch.setattr(text, "KNOWN", text.KNOWN - {"tests"})
    assert program(wave)(jnp.ones(3), 2)["turns"] == 2
    assert not list(folder.iterdir())
    monkeypatch.setattr(text, "KNOWN", text.KNOWN | {"tests"})
    own = type("Own", (), {"__module__": "__main__", "__call__": lambda self, x: 2.0 * x})()
    assert program(lambda f, x: f(x))(own, jnp.ones(3))[0] == 2.0
    assert not list(folder.iterdir())


def test_what_a_function_closes_over_belongs_to_it(folder):
    def scaled(factor):
        return lambda x: factor * x

    x = jnp.ones(2)
    for factor in (2.0, 3.0, np.asarray([4.0, 5.0]), np.asarray([4.0, 6.0])):
        assert np.array_equal(program(scaled(factor))(x), factor * np.ones(2))
    assert len(list(folder.glob(f"*{MADE}"))) == 4
    assert text.write_constant(functools.partial(wave, turns=2)) != text.write_constant(
        functools.partial(wave, turns=3)
    )


def test_derivatives_and_vmap_go_through(folder):
    def cube(x):
        return x**3

    compiled = program(cube)
    assert float(compiled(jnp.asarray(2.0))) == 8.0
    assert float(jax.grad(compiled)(2.0)) == 12.0
    assert np.array_equal(jax.vmap(compiled)(jnp.arange(3.0)), [0.0, 1.0, 8.0])
    assert float(jax.jit(lambda x: compiled(x) + 1.0)(2.0)) == 9.0


def test_what_jax_cannot_export_is_compiled_as_ever(folder):
    def asks_python(x):
        return jax.pure_callback(lambda y: np.asarray(y) * 2.0, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert np.array_equal(program(asks_python)(jnp.ones(3)), 2.0 * np.ones(3))
    assert not list(folder.iterdir())


def test_the_programs_of_the_last_run_are_loaded_ahead_by_a_second_thread(folder, monkeypatch):
    threads = []
    plain = code.read

    def read(*where):
        threads.append(threading.current_thread() is threading.main_thread())
        return plain(*where)

    monkeypatch.setattr(code, "read", read)
    x = jnp.asarray([0.1, 0.2, 0.3])
    with ahead.load_ahead("a form"):
        wanted = program(wave)(x, 5)
    (path,) = folder.glob("used-*.facts")
    assert all(threads)
    threads.clear()
    traces()
    with ahead.load_ahead("a form"):
        for pending in list(ahead._loading.values()):
            pending.result()
        assert threads == [False]
        assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])
    assert threads == [False] and traces() == 0 and not ahead._loading
    path.write_bytes(store.pack(["../elsewhere", 3, "wave-" + 40 * "0"], b""))
    with ahead.load_ahead("a form"):
        assert set(ahead._loading) == {"wave-" + 40 * "0"}
        assert np.array_equal(program(wave)(x, 5)["end"], wanted["end"])
    with ahead.load_ahead("another form"):
        assert not ahead._loading


def test_who_comes_second_waits_and_finds_the_program_made(tmp_path):
    def make(number):
        with store.alone(tmp_path, "one"):
            if store.read(tmp_path, "one") is None:
                made.append(number)
                time.sleep(0.05)
                store.write(tmp_path, "one", None, b"program")

    made: list[int] = []
    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["one.program"]


def test_the_oldest_are_thrown_out_when_there_are_too_many(tmp_path):
    import os

    for age, name in ((30, "old"), (20, "middle"), (10, "new")):
        store.write(tmp_path, name, None, bytes(1000), limit=10_000)
        os.utime(tmp_path / f"{name}.program", (1e9 - age, 1e9 - age))
    store.write(tmp_path, "last", None, bytes(1000), limit=3300)
    assert {path.stem for path in tmp_path.iterdir()} == {"middle", "new", "last"}


def test_forms_go_to_json_and_back_and_name_classes_of_saltus_alone():
    from saltus.hybrid import State

    state = State.of(0.0, [1.0, 2.0], [3.0], [], 1)
    form, count = describe((state, {"b": None, "a": 2}))
    assert count == 5
    back, words = rebuild(form, jax.tree.leaves(state))
    assert jax.tree.structure(back) == jax.tree.structure(state)
    assert words == {"a": 2, "b": None}
    with pytest.raises(FormError):
        rebuild({"class": ["subprocess", "Popen"], "parts": []}, [])
    with pytest.raises(text.UnwritableError):
        describe(Pair(jnp.ones(1), jnp.ones(1), "pair"))


def test_nothing_is_kept_where_nothing_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(_jax_settings, "_programs", [])
    assert program(wave)(jnp.ones(3), 2)["turns"] == 2
    assert not list(tmp_path.iterdir())


RUN = """
import sys, jax, xarray, netCDF4
others = set(sys.modules)  # old versions of xarray load much of SciPy
import saltus
saltus.configure()
from saltus.scenarios import load
run = load("bowl-pendulum", [], False).scenario.simulate()
print(repr(float(run.end.q.sum())), len(run.events))
print(",".join(sorted(set(sys.modules) - others)))
"""


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """What two processes say of a run of the bowl, the second with the programs of the first."""
    import os

    cache = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "SALTUS_CACHE": str(cache), "XLA_FLAGS": ""}
    told = [
        subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    return cache, [one.stdout.splitlines() for one in told]


def test_a_new_process_runs_kept_programs_to_the_same_bits(two_runs):
    cache, (first, again) = two_runs
    assert first[0] == again[0]
    assert list((cache / "programs").glob(f"flow-*{MADE}"))


def test_what_a_run_does_not_use_is_not_loaded(two_runs):
    loaded = set(two_runs[1][1][1].split(","))
    assert "saltus.systems.sliding" in loaded
    unused = ("saltus.systems.chain", "saltus.systems.bodies", "saltus.systems.ball_on_rails", "saltus.gas",
              "diffrax", "scipy.interpolate", "scipy.optimize", "scipy.sparse", "dask", "matplotlib")  # fmt: skip
    assert not loaded.intersection(unused)


def test_one_line_is_said_after_a_second_of_making_programs(monkeypatch):
    import time

    from saltus.programs import waiting

    heard = []
    monkeypatch.setattr(waiting, "_spent", [0.0])
    monkeypatch.setattr(waiting, "_said", [])
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    with waiting.tell_by(heard.append):
        with waiting.making():
            pass
        assert not heard
        for _ in range(3):
            with waiting.making():
                time.sleep(0.2)
    assert heard == [waiting.LINE]


def test_the_coefficients_of_explicit_methods_are_those_of_diffrax():
    import diffrax

    from saltus.engines.tableaus import TABLEAUS

    for name, ours in TABLEAUS.items():
        solver = getattr(diffrax, name.capitalize())()
        theirs = solver.tableau
        assert ours.order == solver.order(None)
        assert all(np.array_equal(a, b) for a, b in zip(ours.a, theirs.a_lower, strict=True))
        assert np.array_equal(ours.b, theirs.b_sol)
        assert np.array_equal(ours.b_error, theirs.b_error)
        assert np.array_equal(ours.c, [0.0, *theirs.c])


def test_parts_of_a_network_are_numbered_in_the_order_of_their_first_masses():
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    from saltus.links.rods import components

    random = np.random.default_rng(3)
    for count in (1, 2, 5, 12):
        pairs = [tuple(pair) for pair in random.integers(0, count, (count // 2, 2)) if pair[0] != pair[1]]
        first, second = np.array(pairs, int).reshape(-1, 2).T
        graph = coo_matrix((np.ones(len(pairs)), (first, second)), shape=(count, count))
        assert np.array_equal(components(pairs, count), connected_components(graph, directed=False)[1])


def test_a_program_for_few_calls_gives_the_same_bits_kept_or_not_and_takes_part_in_traces(folder, monkeypatch):
    def cube(x):
        return jnp.sin(x) ** 3 + x

    x = jnp.linspace(0.1, 2.0, 7)
    first = brief_program(cube)(x)
    monkeypatch.setattr(_jax_settings, "_programs", [])
    brief = brief_program(cube)
    assert np.array_equal(first, brief(x))
    slope = jax.jit(jax.grad(lambda y: brief(y).sum()))(x)
    assert np.allclose(slope, 3.0 * jnp.sin(x) ** 2 * jnp.cos(x) + 1.0, rtol=1e-14)
    # Known numbers while something else is traced.
    assert np.array_equal(jax.jit(lambda y: y * brief(x))(jnp.ones(7)), first)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="GPUs need their sums cut up")
def test_sums_in_large_and_brief_programs_are_not_cut_into_windows():
    lowered = jax.jit(jnp.sum).lower(np.zeros(97))
    assert "reduce-window" in lowered.compile().as_text()  # or there is nothing to keep out any more
    for options in (kept.PLAINER, kept.BRIEF):
        assert "reduce-window" not in lowered.compile(compiler_options=options).as_text()


def test_what_a_run_will_need_is_made_by_a_second_thread_once(folder, monkeypatch):
    made = []
    original = kept._flatten

    def flattened(*given):
        made.append(threading.current_thread().name)
        return original(*given)

    monkeypatch.setattr(kept, "_flatten", flattened)
    later = program(wave)
    prepare(later, np.zeros(3), 4)
    assert not made  # no run is under way
    with ahead.load_ahead("anything", samples=3):
        assert ahead.samples() == 3
        prepare(later, np.zeros(3), 4)
        later(np.ones(3), 4)
    assert len(made) == 1
    with ahead.load_ahead("anything"):
        prepare(program(wave), np.zeros(3), 4)  # its code is there
    assert len(made) == 1
    assert not ahead.under_way()


def test_what_was_made_ready_and_never_called_is_not_loaded_by_the_next_run(folder):
    needed, other = program(wave), program(wave)
    with ahead.load_ahead("a form", samples=3):
        prepare(needed, np.zeros(3), 4)
        prepare(other, np.zeros(3), 6)
        needed(np.ones(3), 4)
        while len(list(folder.glob(f"*{MADE}"))) < 2:
            time.sleep(0.01)
    with ahead.load_ahead("a form"):
        assert len(ahead._loading) == 1


def test_what_a_run_comes_to_soon_is_made_before_what_it_needs_at_its_end(folder, monkeypatch):
    monkeypatch.setattr(ahead, "MAKERS", 1)
    begun, done, release = [], threading.Event(), threading.Event()
    with ahead.load_ahead("a form"):
        ahead.submit(release.wait)
        for rank in (ahead.Rank.at_end, ahead.Rank.soon, ahead.Rank.at_end, ahead.Rank.soon):
            ahead.submit(functools.partial(begun.append, rank), rank)
        ahead.submit(done.set, ahead.Rank.at_end)
        release.set()
        assert done.wait(10.0)
    assert begun == sorted(begun) and len(begun) == 4
    ahead.submit(begun.clear)
    assert len(begun) == 4  # no run is under way


@pytest.mark.parametrize("ends", [ahead.let_python_go, lambda: 1 / 0], ids=["goes to the compiler", "fails"])
def test_others_wait_for_python_until_the_first_program_of_a_run_no_longer_needs_it(folder, ends):
    told, release, done = [], threading.Event(), threading.Event()

    def first():
        assert release.wait(10.0)
        told.append("first")
        ends()
        assert done.wait(10.0)  # while it is compiled

    def second():
        ahead.wait_for_python()
        told.append("another thread")
        done.set()

    with ahead.load_ahead("a form"):
        ahead.wait_for_python()  # nothing is submitted yet
        ahead.submit(first)
        ahead.submit(functools.partial(told.append, "second"))
        other = threading.Thread(target=second)
        other.start()
        time.sleep(0.05)
        assert told == []
        release.set()
        assert done.wait(10.0)
        other.join(10.0)
        ahead.wait_for_python()
    assert told[0] == "first" and "another thread" in told


def test_what_a_run_may_never_come_to_is_made_by_one_thread_while_the_other_is_free(folder):
    guessing, release, done = threading.Event(), threading.Event(), threading.Event()
    together, most = [], []

    def guess():
        together.append(1)
        most.append(len(together))
        guessing.set()
        assert release.wait(10.0)
        together.pop()

    with ahead.load_ahead("a form"):
        for _ in range(3):
            ahead.submit(guess, ahead.Rank.perhaps)
        ahead.submit(done.set, ahead.Rank.perhaps)
        assert guessing.wait(10.0)
        needed = threading.Event()
        ahead.submit(needed.set, ahead.Rank.at_end)
        assert needed.wait(10.0)  # although a guess is still at work
        assert not done.is_set()
        release.set()
        assert done.wait(10.0)
    assert most == [1, 1, 1]


def test_a_guess_that_fails_does_not_keep_others_from_being_made(folder):
    done = threading.Event()

    def fail():
        raise ValueError("a guess that cannot be made")

    with ahead.load_ahead("a form"):
        ahead.submit(fail, ahead.Rank.perhaps)
        ahead.submit(done.set, ahead.Rank.perhaps)
        assert done.wait(10.0)


def test_programs_that_are_made_side_by_side_count_once():
    # Counted for each, they took more than the process had: an ensemble's first run never had workers help it.
    before, began = waiting.time_spent(), time.process_time()
    with waiting.making(), waiting.making():
        while time.process_time() < began + 0.05:
            pass
        during = waiting.time_spent() - before
    assert 0.04 < during <= waiting.time_spent() - before <= time.process_time() - began
