/** Shapes of OAuth requests. Unknown members are ignored, as RFC 7591 section 2 asks. */
import * as v from "valibot";

// Names of applications. Unknown third parties choose them, and people read them on the consent page.

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

const name = v.pipe(
  v.string(),
  // Before the blanks around it are removed: characters that only look like nothing are no missing name.
  v.check((text) => text === "" || isVisibleName(text.trim())),
  v.trim(),
  v.maxLength(255),
);

const webAddress = v.pipe(
  v.string(),
  v.maxLength(2048),
  v.check((text) => text === "" || isWebAddress(text)),
);

function isWebAddress(text: string): boolean {
  const url = /^https?:\/\/[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "" && !/[<>"\\]/.test(text);
}

const words = v.array(v.pipe(v.string(), v.maxLength(100)));

/** Specification section 2.1: every member optional. */
export const ClientMetadata = v.object({
  client_name: v.optional(name),
  client_uri: v.optional(webAddress),
  logo_uri: v.optional(webAddress),
  policy_uri: v.optional(webAddress),
  tos_uri: v.optional(webAddress),
  redirect_uris: v.optional(v.pipe(v.array(v.string()), v.maxLength(50))),
  grant_types: v.optional(words, ["authorization_code"]),
  response_types: v.optional(words, ["code"]),
  token_endpoint_auth_method: v.optional(v.string(), "none"),
  scope: v.optional(v.pipe(v.string(), v.maxLength(1000))),
});

const ADDRESS = "must be an http or https address of at most 2048 characters, without user name";
const WORDS = "must be a list of strings of at most 100 characters";

/** The required type of each member, for error messages. */
export const RULES: Record<keyof ClientMetadata, string> = {
  client_name: "must be a string of at most 255 characters, all of them visible",
  client_uri: ADDRESS,
  logo_uri: ADDRESS,
  policy_uri: ADDRESS,
  tos_uri: ADDRESS,
  redirect_uris: "must be a list of 1 to 50 strings",
  grant_types: WORDS,
  response_types: WORDS,
  token_endpoint_auth_method: "must be the string none",
  scope: "must be a string of at most 1000 characters",
};

/** Specification section 2.2, and RFC 7591 section 3.2.2. Only for /openapi.json. */
export const RegisteredClient = v.object({
  ...ClientMetadata.entries,
  client_id: v.string(),
  client_id_issued_at: v.pipe(v.number(), v.integer()),
  redirect_uris: v.array(v.string()),
});
export const OAuthErrorBody = v.object({ error: v.string(), error_description: v.string() });

/** RFC 6749 section 5.1, with the workspace, which is sent as X-Tenant-Id. Only for /openapi.json. */
export const Tokens = v.object({
  access_token: v.string(),
  token_type: v.literal("Bearer"),
  expires_in: v.number(),
  refresh_token: v.optional(v.string()),
  scope: v.string(),
  workspace_id: v.string(),
});

/** RFC 7662 section 2.2. Only for /openapi.json. */
export const Introspection = v.union([
  v.object({ active: v.literal(false) }),
  v.object({
    active: v.literal(true),
    scope: v.string(),
    permissions: v.array(v.string()),
    client_id: v.string(),
    token_type: v.literal("Bearer"),
    exp: v.number(),
    sub: v.string(),
    aud: v.string(),
    iss: v.string(),
    workspace_id: v.string(),
  }),
]);

export type ClientMetadata = v.InferOutput<typeof ClientMetadata>;
