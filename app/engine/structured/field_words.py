"""What people write for numbers, dates and yes or no, in several languages, as the values that are meant. Pure.

Each function returns None for what can be read in two ways: then the model is asked.
"""

import re
import unicodedata
from datetime import date, datetime

_MONTHS = {
    1: "january jan januar jänner januari janvier janv enero ene gennaio gen janeiro styczeń stycznia sty januar ocak",
    2: "february feb februar februari février févr fév febrero febbraio fevereiro fev luty lutego lut şubat",
    3: "march mar märz mrz maart mars marzo março marzec marca mart mrt",
    4: "april apr avril avr abril abr aprile kwiecień kwietnia kwi nisan",
    5: "may mai mei mayo maggio mag maio maj maja mayıs",
    6: "june jun juni juin junio giugno giu junho czerwiec czerwca cze haziran",
    7: "july jul juli juillet juil julio luglio lug julho lipiec lipca lip temmuz",
    8: "august aug augustus août agosto ago sierpień sierpnia sie ağustos augusti",
    9: "september sep sept septembre septiembre settembre set setembro wrzesień września wrz eylül",
    10: "october oct oktober okt octobre octubre ottobre ott outubro out październik października paź ekim",
    11: "november nov novembre noviembre novembro listopad listopada lis kasım",
    12: "december dec dezember dez décembre déc diciembre dic dicembre dezembro grudzień grudnia gru aralık desember",
}
"""English, German, Dutch, French, Spanish, Italian, Portuguese, Polish, Turkish, Swedish, Norwegian."""

_YES = (
    "yes y true on ja j jo oui o vrai si sì vero sim s verdadeiro tak prawda evet да jawohl 是 はい 有 x ✓ ✔ wahr "
    "waar sant verdadero joo 1"
)
_NO = (
    "no n false off nein non faux falso não nao nie fałsz hayır niet nee nei nej нет het ei 否 いいえ 无 ✗ ✘ "
    "falsch onwaar usann 0"
)

_SIZES: dict[float, str] = {
    1e3: "k K tsd tausend thousand mil mille mila tys duizend тыс",
    1e6: "M mio mn mln million millionen millions millones millón milioni milione milhões milhão miljoen miljoner млн",
    1e9: "B G bn mrd md milliarde milliarden milliard milliards miliardi miliard miljard mld billion billions млрд",
    1e12: "T tn billionen trillion trillions",
}
"""`m` alone is not here: it is a metre as often as a million."""

_MAGNITUDES = {word: size for size, words in _SIZES.items() for word in words.split()}

_CURRENCY = r"(?:[€$£¥₹₽]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|CAD|AUD|CNY|INR|BRL|MXN|RUB|TRY)"
_NUMBER = re.compile(
    rf"(?:ca\.?|about|approx\.?|etwa|~|≈)?\s*{_CURRENCY}?\s*"
    r"(?P<sign>[-+−]?)\s*(?P<digits>\d[\d.,'’\u00a0\u202f\u2009_ ]*\d|\d)"
    rf"\s*(?P<word>[^\W\d_]+)?\.?\s*{_CURRENCY}?\s*(?P<percent>%|percent|prozent|pct)?",
    re.IGNORECASE,
)
_GROUP_MARKS = re.compile(r"['’\u00a0\u202f\u2009_ ]")

_NUMERIC = re.compile(r"(\d{1,4})\s*([./-])\s*(\d{1,2})\s*\2\s*(\d{1,4})\.?")
_ASIAN = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]?")
_SPOKEN = re.compile(r"[^\W\d_]+|\d+")
_CLOCK = re.compile(
    r"[T,\s]+(?:um|at|à|alle|a las)?\s*(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm|uhr|h)?\s*$", re.IGNORECASE
)
_FILLERS = """
the of de del di den le la am il el er ère st nd rd th º o dia i mon tue wed thu fri sat sun monday tuesday wednesday
thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi
vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo"""
"""Words of a date that say nothing of which it is."""


def plain(text: str) -> str:
    """For comparing: without case, accents, and blanks around; `_` and `-` are blanks."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(bare.replace("_", " ").replace("-", " ").split())


_MONTH_OF = {plain(name): number for number, names in _MONTHS.items() for name in names.split()}
_BOOLEANS = {plain(word): True for word in _YES.split()} | {plain(word): False for word in _NO.split()}
_IDLE = frozenset(plain(word) for word in _FILLERS.split())
_LOWER = {plain(word): size for word, size in _MAGNITUDES.items() if len(word) > 1}


def read_boolean(text: str) -> bool | None:
    """`oui`, `Ja.`, `false`, `✓` as what they say."""
    return _BOOLEANS.get(plain(text).rstrip(".!"))


def read_number(text: str, *, whole: bool = False, most: float | None = None) -> float | int | None:
    """`1.2k`, `3,5 Mio`, `€ 1.234,50`, `12 %`. A share is a hundredth where nothing above 1 may be (`most`). `1.234`
    has a group of three digits where the number is `whole`, else decimals."""
    if len(text) > 100 or (found := _NUMBER.fullmatch(text.strip())) is None:
        return None
    word = found["word"] or ""
    size = _MAGNITUDES.get(word) or _LOWER.get(plain(word)) or (1.0 if not word else None)
    digits = _decimal(_GROUP_MARKS.sub("", found["digits"]), whole=whole, scaled=bool(word))
    if size is None or digits is None:
        return None
    number = float(digits) * size * (-1 if found["sign"] in ("-", "−") else 1)
    if found["percent"] and most is not None and most <= 1:
        number /= 100
    number = round(number, 12)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _decimal(digits: str, *, whole: bool, scaled: bool) -> str | None:
    """The number as Python writes it; None if it can be read in two ways, or in none."""
    dot, comma = digits.count("."), digits.count(",")
    if dot and comma:
        point, group = (".", ",") if digits.rfind(".") > digits.rfind(",") else (",", ".")
        head, _, tail = digits.rpartition(point)
        grouped = head.split(group)
        return None if point in head or not _are_groups(grouped) else f"{''.join(grouped)}.{tail}"
    if dot + comma == 0:
        return digits
    mark = "." if dot else ","
    parts = digits.split(mark)
    if len(parts) > 2:
        return "".join(parts) if _are_groups(parts) else None
    is_group = _are_groups(parts) and not scaled and parts[0] != "0" and (whole or mark == ",")
    return "".join(parts) if is_group else ".".join(parts)


def _are_groups(parts: list[str]) -> bool:
    return 1 <= len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])


def read_date(text: str) -> str | None:
    """The date as ISO 8601: `3. März 2024`, `le 1er avril 2024`, `31/12/2024`, `March 3rd, 2024`. `03/04/2024` is two
    dates."""
    text = text.strip()
    if len(text) > 80:
        return None
    if found := _ASIAN.fullmatch(text):
        return _iso(int(found[1]), int(found[2]), int(found[3]))
    if found := _NUMERIC.fullmatch(text):
        return _numeric_date(found[1], found[2], int(found[3]), found[4])
    return _spoken_date(text)


def _numeric_date(first: str, mark: str, second: int, third: str) -> str | None:
    if len(first) == 4:
        return _iso(int(first), second, int(third))
    if len(third) not in (2, 4) or len(first) > 2:
        return None
    year = int(third) if len(third) == 4 else int(third) + (2000 if int(third) < 69 else 1900)
    day = int(first)
    if mark == "." or day > 12 or day == second:
        return _iso(year, second, day)
    return _iso(year, day, second) if second > 12 else None


def _spoken_date(text: str) -> str | None:
    words = [plain(word) for word in _SPOKEN.findall(text)]
    months = [_MONTH_OF[word] for word in words if word in _MONTH_OF]
    numbers = [word for word in words if word.isdecimal()]
    known = all(word in _MONTH_OF or word.isdecimal() or word in _IDLE or len(word) == 1 for word in words)
    if len(months) != 1 or len(numbers) != 2 or not known:
        return None
    years = [int(number) for number in numbers if len(number) == 4]
    days = [int(number) for number in numbers if len(number) <= 2]
    return _iso(years[0], months[0], days[0]) if len(years) == len(days) == 1 else None


def read_moment(text: str) -> str | None:
    """A date with a time of day, as ISO 8601; midnight where there is none."""
    text = text.strip()
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        pass
    clock = _CLOCK.search(text)
    day = read_date(text[: clock.start()] if clock is not None else text)
    if day is None:
        return None
    hour, minute, second = (int(part or 0) for part in clock.group(1, 2, 3)) if clock is not None else (0, 0, 0)
    half = (clock[4] or "").lower() if clock is not None else ""
    if half in ("am", "pm"):
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return datetime.fromisoformat(day).replace(hour=hour, minute=minute, second=second).isoformat()
    except ValueError:
        return None


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
