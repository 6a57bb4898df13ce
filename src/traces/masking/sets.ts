/** What is found without an expression of the workspace: addresses, numbers with their checksums, and keys. Each takes linear time. */

export const SETS = ["email", "phone", "iban", "card", "key"] as const;
export type SetName = (typeof SETS)[number];

/** The text with what the set finds replaced by `mark`. */
export type MaskText = (text: string, mark: string) => string;

const EMAIL = /[\p{L}\p{N}._%+'-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu;

function email(text: string, mark: string): string {
  return text.includes("@") ? text.replaceAll(EMAIL, mark) : text;
}

/** Digits with a few separators, by which people write numbers. */
const DIGITS = /\d(?:[ .()/-]{0,2}\d){6}/;
/** Longer than any number, so that none is cut. A bound, because the engine keeps each digit of a match on its stack. */
const PHONE = /(?<![\w.])(?:\+ ?)?\(?\d(?:[ .()/-]{0,2}\d){6,40}(?!\w)/g;
/** 3-3-4 as in North America, a trunk prefix, or an area code in brackets. */
const NATIONAL = /^(?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}$|^0\d{1,5}[ .()/-]|^\(\d{2,5}\)/;
const DATE = /^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}/;
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** E.164: at most 15 digits. A plain row of digits is no telephone number, for most are ids and times. */
function isPhone(text: string): boolean {
  const digits = text.replaceAll(/\D/g, "").length;
  if (digits < 7 || digits > 15 || DATE.test(text) || ADDRESS.test(text)) return false;
  return text.startsWith("+") || /^00[1-9]/.test(text) || NATIONAL.test(text);
}

function phone(text: string, mark: string): string {
  return DIGITS.test(text) ? text.replaceAll(PHONE, (found) => (isPhone(found) ? mark : found)) : text;
}

/** Lengths of ISO 13616, by country. */
const IBAN_LENGTHS = new Map(
  Object.entries({
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
  }).flatMap(([length, countries]) =>
    countries.split(" ").map((country): [string, number] => [country, Number(length)]),
  ),
);
/** Its two digits, behind the letters of the country: a search for digits is faster than one for letters. */
const IBAN_DIGITS = /\d\d(?<=(?<![A-Za-z0-9])[A-Za-z]{2}\d\d)(?=[ -]?[A-Za-z0-9])/g;
/** The longest IBAN with a separator after each character. */
const IBAN_MOST = 68;

/** ISO 7064, mod 97-10. */
function hasIbanChecksum(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** The number of characters of `text` that are an IBAN: words may follow it. */
function ibanLength(text: string): number {
  const length = IBAN_LENGTHS.get(text.slice(0, 2).toUpperCase()) ?? 0;
  let plain = "";
  for (let at = 0; at < text.length && plain.length < length; at++) {
    const character = text[at] ?? "";
    if (character !== " " && character !== "-") plain += character.toUpperCase();
    if (plain.length === length) return length > 0 && hasIbanChecksum(plain) ? at + 1 : 0;
  }
  return 0;
}

function iban(text: string, mark: string): string {
  let masked = "";
  let end = 0;
  if (text.search(IBAN_DIGITS) < 0) return text;
  for (const found of text.matchAll(IBAN_DIGITS)) {
    const index = found.index - 2;
    const length = index < end ? 0 : ibanLength(text.slice(index, index + IBAN_MOST));
    if (length === 0 || /[A-Za-z0-9]/.test(text[index + length] ?? "")) continue;
    masked += text.slice(end, index) + mark;
    end = index + length;
  }
  return end === 0 ? text : masked + text.slice(end);
}

/** Visa, Mastercard, American Express, Discover, Diners Club, JCB, UnionPay, Maestro: 13 to 19 digits, the likeliest first. */
const CARD_LENGTHS = [16, 15, 14, 19, 18, 17, 13];
const CARD_PREFIX = /^(?:4|5[0-8]|2(?:2[2-9]|[3-6]|7[01]|720)|3[04-9]|6)/;

/** ISO/IEC 7812-1, annex B. */
function hasLuhnChecksum(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    sum += place % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

const isDigit = (text: string, at: number) => {
  const code = text.charCodeAt(at);
  return code > 47 && code < 58;
};

/** Where the card ends whose first digit is at this place; 0 when there is none. Other digits stand behind a separator. */
function cardEnd(text: string, start: number): number {
  let digits = "";
  const ends: number[] = [];
  for (let at = start; digits.length < 19; at++) {
    if (isDigit(text, at)) {
      digits += text[at];
      ends.push(at + 1);
    } else if ((text[at] !== " " && text[at] !== "-") || !isDigit(text, at + 1)) break;
  }
  const length = CARD_LENGTHS.find((length) => {
    const end = ends[length - 1];
    const number = digits.slice(0, length);
    return end !== undefined && !isDigit(text, end) && CARD_PREFIX.test(number) && hasLuhnChecksum(number);
  });
  return length === undefined ? 0 : (ends[length - 1] ?? 0);
}

function card(text: string, mark: string): string {
  if (!DIGITS.test(text)) return text;
  let masked = "";
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (!isDigit(text, at) || isDigit(text, at - 1)) continue;
    const after = cardEnd(text, at);
    if (after === 0) continue;
    masked += text.slice(end, at) + mark;
    end = after;
    at = after - 1;
  }
  return end === 0 ? text : masked + text.slice(end);
}

/** Keys by the prefixes that their makers publish for scanners, JSON Web Tokens and private keys in PEM. */
const KEY = new RegExp(
  [
    "(?<![A-Za-z0-9_])(?:" +
      [
        "sk-[\\w-]{16,}",
        "(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",
        "gh[oprsu]_[A-Za-z0-9]{30,}",
        "github_pat_\\w{22,}",
        "gl(?:pat|ptt|dt|rt)-[\\w-]{20,}",
        "xox[abeoprs]-[\\w-]{10,}",
        "(?:AKIA|ASIA)[A-Z0-9]{16,}",
        "AIza[\\w-]{35,}",
        "ya29\\.[\\w-]{20,}",
        "lsv2_[a-z]{2}_\\w{20,}",
        "weir_\\w{20,}",
        "npm_[A-Za-z0-9]{36,}",
        "hf_[A-Za-z0-9]{30,}",
        "SG\\.[\\w-]{16,}\\.[\\w-]{16,}",
        "dop_v1_[a-f0-9]{64,}",
        "pypi-[\\w-]{50,}",
      ].join("|") +
      ")",
    "(?<![\\w-])eyJ[\\w-]{8,}\\.eyJ[\\w-]{8,}\\.[\\w-]*",
    "-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\\s\\\\]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
  ].join("|"),
  "g",
);

/** A fast first look: how each of them begins. */
const KEY_START =
  /sk[-_]|[pr]k_|whsec_|gh[oprsu]_|github_pat_|gl(?:pat|ptt|dt|rt)-|xox[a-z]-|A[KS]IA|AIza|ya29\.|lsv2_|weir_|npm_|hf_|SG\.|dop_v1_|pypi-|eyJ|-----BEGIN/;

function key(text: string, mark: string): string {
  return text.length > 12 && KEY_START.test(text) ? text.replaceAll(KEY, mark) : text;
}

export const MASKS: Record<SetName, MaskText> = { email, phone, iban, card, key };
