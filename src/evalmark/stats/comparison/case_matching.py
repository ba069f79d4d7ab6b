"""Matches the cases of two runs: by id and content, otherwise by content alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from evalmark.core.case_titles import CaseTitles

from .change import Key, Matching


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedCases:
    """The common cases of two targets."""

    pairs: Mapping[Key, Key]
    """Maps a case of the run to the same case of the baseline."""
    matching: Matching


def match(now: Mapping[Key, str], before: Mapping[Key, str]) -> MatchedCases:
    """Match cases with the same id and content; of the others, those whose content is unique on both sides.

    Both arguments map cases to fingerprints of their content. If each side has a single dataset, its name does
    not matter, so a renamed file still matches.
    """
    names = ({dataset for dataset, _ in now}, {dataset for dataset, _ in before})
    alone = all(len(found) == 1 for found in names)
    old = {(_dataset(key, alone), key[1]): key for key in before}
    pairs: dict[Key, Key] = {}
    rest: list[Key] = []
    for key, content in now.items():
        other = old.get((_dataset(key, alone), key[1]))
        if other is not None and before[other] == content:
            pairs[key] = other
        else:
            rest.append(key)
    taken = set(pairs.values())
    renamed = _by_content(rest, [key for key in before if key not in taken], now, before)
    pairs.update(renamed)
    taken.update(renamed.values())
    left = {(_dataset(key, alone), key[1]) for key in before if key not in taken}
    unmatched = [key for key in rest if key not in renamed]
    edited = {(_dataset(key, alone), key[1]) for key in unmatched} & left
    return MatchedCases(
        pairs=pairs,
        matching=Matching(
            common=len(pairs),
            renamed=len(renamed),
            edited=tuple(sorted(case for _, case in edited)),
            new=tuple(key[1] for key in unmatched if (_dataset(key, alone), key[1]) not in edited),
            gone=tuple(sorted(case for dataset, case in left if (dataset, case) not in edited)),
        ),
    )


def with_titles(matching: Matching, inputs: Iterable[Mapping[Key, object]]) -> Matching:
    """Add the titles of cases that are not in both runs; `inputs` has the inputs of all cases with a generated id."""
    alone = {*matching.edited, *matching.new, *matching.gone}
    titles_of = CaseTitles()
    titles = {key[1]: titles_of(key[1], given) for found in inputs for key, given in found.items() if key[1] in alone}
    return replace(matching, titles=titles)


def _dataset(key: Key, alone: bool) -> str:
    return "" if alone else key[0]


def _by_content(
    rest: Iterable[Key], left: Iterable[Key], now: Mapping[Key, str], before: Mapping[Key, str]
) -> dict[Key, Key]:
    """Match cases with different ids and the same, unique content."""
    new: defaultdict[str, list[Key]] = defaultdict(list)
    old: defaultdict[str, list[Key]] = defaultdict(list)
    for key in rest:
        new[now[key]].append(key)
    for key in left:
        old[before[key]].append(key)
    return {
        keys[0]: old[content][0] for content, keys in new.items() if len(keys) == 1 and len(old.get(content, ())) == 1
    }
