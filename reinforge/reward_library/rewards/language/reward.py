"""Share of the completion in the wanted language, by its script and common short words.

Letters are counted by script, which shows Chinese in an English answer and Cyrillic
look-alikes. Among Latin-script languages, short words of the wanted one must be present,
varied, and more than any other's.
"""

import re
import unicodedata

LANGUAGE = "en"  # where the row has no `language`
LEAST = 5  # words; a shorter text gets less, for it shows no language
SMALL = 0.15  # share of small words that a text of the language has
# Unicode's names of the scripts of languages that have one to themselves
SCRIPTS = {
    "ru": ["CYRILLIC"], "uk": ["CYRILLIC"], "el": ["GREEK"], "zh": ["CJK"], "ja": ["HIRAGANA", "KATAKANA", "CJK"],
    "ko": ["HANGUL"], "ar": ["ARABIC"], "he": ["HEBREW"], "hi": ["DEVANAGARI"], "th": ["THAI"],
}  # fmt: skip
# the small words of languages of the Latin script
WORDS = {
    "en": "the of and to in is a that it for was on are with as be this by or from at an not have which so if we then",
    "de": "der die das und ist in zu den nicht ein eine es mit sich auf dem für von im wir auch als so wenn dann wird",
    "fr": "le la les de des et est un une à il que en dans qui pour pas sur au avec ce se sont nous donc si par du",
    "es": "el la los las de y es un una que en a se no por con para su lo como al del más son si entonces pero cada",
    "it": "il la i le di e è un una che in a si non per con su lo come al del più sono se quindi gli della nel",
    "pt": "o a os as de e é um uma que em se não por com para seu no na do da mais são então mas cada ao",
    "nl": "de het een en is van in te dat niet op zijn met voor er aan die als ook wij dan wordt door",
}


def script_of(letter):
    return unicodedata.name(letter, "?").split(" ")[0].split("-")[0]


def grade(sample, item):
    language = item.get("language") or LANGUAGE
    if language not in WORDS and language not in SCRIPTS:
        return None  # not a language that is known here
    text = unicodedata.normalize("NFC", sample["output_text"][:50000])
    letters = [letter for letter in text if letter.isalpha()]
    expected = SCRIPTS.get(language, ["LATIN"])
    named = {letter: script_of(letter) for letter in set(letters)}
    share = sum(named[letter] in expected for letter in letters) / max(1, len(letters))
    words = re.findall(r"[^\W\d_]+", text.casefold())
    amount = len(words) if language in WORDS or language not in ("zh", "ja", "th") else len(letters) / 2
    if not amount:
        return {"score": 0.0, "reason": "no words"}
    typical = 1.0
    if language in WORDS:
        counts = {name: sum(word in small.split() for word in words) for name, small in WORDS.items()}
        own, kinds = counts[language], len(set(words) & set(WORDS[language].split()))
        other = max(count for name, count in counts.items() if name != language)
        varied = min(1.0, kinds / (1.4 * own**0.5)) ** 2 if kinds < own else 1.0
        if own > LEAST:  # nothing but small words is no text
            varied *= min(1.0, (1 - own / len(words)) / 0.25)
        typical = min(1.0, own / len(words) / SMALL) * varied * (own > other)
    parts = {"script": share, "words": typical}
    # Squared: an eighth of another script is easily seen, and costs a quarter.
    return {
        "score": share**2 * typical * min(1.0, amount / LEAST),
        "parts": parts,
        "reason": f"{share:.0%} of the letters are {'/'.join(expected).lower()}; small words: {typical:.0%}",
    }
