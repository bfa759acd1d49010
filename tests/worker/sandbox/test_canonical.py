"""Canonical texts of values: equal exactly where Python's ``==`` holds, and only for values of exact built-in types."""

from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.sandbox.jailed.canonical import NoCanonicalForm, canonical

hashable = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=10,
)


@given(plain, plain)
def test_texts_are_equal_exactly_where_values_are(one: object, other: object) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)
    assert canonical(one) == canonical(one)


@given(st.integers(-50, 50), st.sampled_from([int, float, complex, lambda x: x / 2]))
def test_numbers_are_equal_across_their_types(value: int, kind: type) -> None:
    for other in (int, float, complex, bool):
        one, two = kind(value), other(value)
        assert (canonical(one) == canonical(two)) == (one == two)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1e300, 10**300), (2.0**53, 2**53), (2.0**53 + 2, 2**53 + 1), (0.0, -0.0), (0.1, 0.1000000000000001),
        (float("inf"), 10**400), ([1], (1,)), ({1: 2}, OrderedDict({1: 2})), (Counter("a"), {"a": 1}),
        (defaultdict(int, {1: 2}), {1: 2}), (deque([1]), [1]), (set(), {}), (frozenset({1}), {1}), ("1", 1),
        (b"a", bytearray(b"a")), (b"a", "a"), ("a,b", "a"), (["a", "b"], ["a,b"]), ("\ud800", "\ud801"),
 ({1: [2]}, {1.0: [2.0]}), ((), None), ({(): ()}, {(): []}),
    ],
)  # fmt: skip
def test_the_corners(one: object, other: object) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


def test_a_huge_number_has_a_text() -> None:
    assert canonical(10**6000) != canonical(10**6000 + 1)


def test_a_tuple_counts_as_a_list_where_json_is_expected() -> None:
    assert canonical({"a": (1, (2,))}, loose=True) == canonical({"a": [1, [2]]}, loose=True)


class AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True


class Seven(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [AlwaysEqual(), Seven(7), [Seven(7)], {"a": AlwaysEqual()}, Point(1, 2), type("S", (str,), {})("a"),
     type("L", (list,), {})([1]), print, int, object(), range(3), iter([1])],
)  # fmt: skip
def test_objects_of_other_types_have_no_text(value: object) -> None:
    with pytest.raises(NoCanonicalForm):
        canonical(value)


def test_what_never_ends_has_no_text() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(NoCanonicalForm, match="nested"):
        canonical(endless)
