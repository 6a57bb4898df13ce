/** A failure of a model that the caller may read. */
export class ModelFailure extends Error {
  override name = "ModelFailure";

  /** `status`: that of the provider, where it answered. */
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** Why a call has failed, for programs. `cancelled`: its reader has left. */
export type FaultKind = "cancelled" | "timeout" | "provider" | "connection";

export interface Fault {
  kind: FaultKind;
  /** What the caller may read. */
  message: string;
}

/** Characters of a provider's message. */
const MOST_SAID = 500;
/** What providers quote of keys, as "Incorrect API key provided: sk-ab****yz". */
const KEYS = /\b(?:(?:sk|pk|key|gsk|xai)[-_]|Bearer )[\w*.-]{6,}/g;

/** The text without the key of the call, and without what looks like a key. */
export function withoutKeys(text: string, key: string | undefined): string {
  const known = key === undefined || key === "" ? text : text.replaceAll(key, "[key]");
  return known.replaceAll(KEYS, "[key]").slice(0, MOST_SAID);
}
