/** Names of applications. Unknown third parties choose them, and people read them on the consent page. */

/**
 * Characters that show nothing or change how others show: controls, formats, private and unassigned ones, line ends, what
 * Unicode says may be ignored in display (Hangul fillers, variation selectors, joiners), and the empty Braille pattern.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u2800]/u;
/** Names consist of more than marks and spaces. */
const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** Emoji of several characters, such as families and flags, as Unicode recommends them for interchange. */
const EMOJI = /\p{RGI_Emoji}/gv;
/** The scripts whose spelling needs joiners between letters: Persian and Urdu, Syriac, and those of India and Sri Lanka. */
const SCRIPTS = ["Arab", "Syrc", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh"];
const letter = `[${SCRIPTS.map((script) => `\\p{scx=${script}}`).join("")}]`;
const JOINER = new RegExp(`(?<=${letter})[\\u200c\\u200d](?=${letter})`, "gu");

/** Whether a person sees all of a name that is there. */
export function isVisibleName(name: string): boolean {
  const plain = name.replace(EMOJI, "*").replace(JOINER, "");
  return SEEN.test(plain) && !UNSEEN.test(plain);
}
