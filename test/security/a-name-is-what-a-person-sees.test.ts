/** An application cannot hide behind characters that show nothing. */
import { describe, expect, it } from "vitest";
import { CALLBACK } from "../access/oauth/person.ts";
import { send } from "../support/caller.ts";

const register = (client_name: string) =>
  send("/oauth/register", {
    body: { client_name, redirect_uris: [CALLBACK] },
    headers: { "cf-connecting-ip": crypto.randomUUID() },
  });

const INVISIBLE: [what: string, name: string][] = [
  ["a Hangul filler", "\u3164"],
  ["a Hangul filler between letters", "Ac\u3164me"],
  ["a halfwidth Hangul filler", "\uffa0"],
  ["a Hangul choseong filler", "\u115f"],
  ["a Hangul jungseong filler", "Acme\u1160"],
  ["empty Braille", "\u2800"],
  ["empty Braille after a letter", "Acme\u2800"],
  ["a combining grapheme joiner", "Ac\u034fme"],
  ["a soft hyphen", "Ac\u00adme"],
  ["a zero-width space", "Ac\u200bme"],
  ["a word joiner", "Ac\u2060me"],
  ["a joiner between Latin letters", "Ac\u200dme"],
  ["a non-joiner between Latin letters", "Ac\u200cme"],
  ["a joiner at the end of a Persian word", "\u0633\u0644\u0627\u0645\u200c"],
  ["two joiners in a Persian word", "\u0645\u06cc\u200c\u200c\u062e"],
  ["a variation selector after a letter", "A\ufe0fcme"],
  ["tags after a letter", "A\u{e0061}\u{e007f}"],
  ["an override of direction", "\u202egnp.emcA"],
  ["an isolate of direction", "\u2066Acme"],
  ["a private character", "Acme\ue000"],
  ["only a mark", "\u0301"],
  ["only an ideographic space", "\u3000"],
  ["only a byte order mark", "\ufeff"],
  ["only blanks", "  \t"],
  ["only no-break spaces", "\u00a0\u2007"],
];
const VISIBLE = [
  "Acme",
  "Visual Studio Code",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "Team \u{1f469}\u{1f3fd}\u200d\u{1f4bb}",
  "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} London",
  "I \u2764\ufe0f agents",
  "1\ufe0f\u20e3 first",
  "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
  "\u0915\u094d\u200d\u0937",
  "\ud55c\uad6d\uc5b4",
  "Cafe\u0301",
];

describe("a name", () => {
  it.each(INVISIBLE)("with %s is refused", async (_what, name) => {
    const response = await register(name);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_client_metadata" });
  });

  it.each(VISIBLE)("%j is accepted", async (name) => {
    const response = await register(name);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ client_name: name });
  });
});
