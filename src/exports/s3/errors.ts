/** Errors of S3 stores, and whether a retry can help. Error codes differ between servers, so the status decides. */

/** A store's refusal. The message is the store's own reason; it never holds a credential. */
export class StoreError extends Error {
  constructor(
    message: string,
    readonly code: string,
    /** True when no retry can help: credentials, bucket, region, a request that the store does not support. */
    readonly permanent: boolean,
  ) {
    super(message);
    this.name = "StoreError";
  }
}

/** Client errors that are worth a retry: clock skew, connections, corrupted bytes, lost uploads. */
const MAY_HEAL = new Set([
  "RequestTimeTooSkewed",
  "RequestTimeout",
  "RequestTimeoutException",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequests",
  "OperationAborted",
  "ConditionalRequestConflict",
  "IncompleteBody",
  "BadDigest",
  "InvalidDigest",
  "XAmzContentSHA256Mismatch",
  "XAmzContentChecksumMismatch",
  "NoSuchUpload",
  "InvalidPart",
  "InternalError",
  "ServiceUnavailable",
]);

/** Server errors that no retry can fix. */
const WILL_STAY = new Set(["NotImplemented"]);

/**
 * What an S3 answer that is no success means. `body` is its XML, if any. `mask` takes the credentials out of a text. It gets
 * decoded texts: XML writes some characters of a credential as entities.
 */
export function readStoreError(status: number, body: string, mask: (text: string) => string): StoreError {
  const given = readElement(body, "Code") ?? `HTTP${status}`;
  const code = mask(given);
  const reason = mask(readElement(body, "Message") ?? hint(status)).slice(0, 300);
  return new StoreError(`${code}: ${reason}`, code, isPermanent(status, given));
}

function isPermanent(status: number, code: string): boolean {
  if (MAY_HEAL.has(code)) return false;
  if (WILL_STAY.has(code)) return true;
  return status < 500 && status !== 408 && status !== 409 && status !== 425 && status !== 429;
}

function hint(status: number): string {
  if (status >= 300 && status < 400) return "the bucket is in another region: check the region and the endpoint";
  if (status === 401 || status === 403) return "access denied";
  if (status === 404) return "the bucket or the endpoint's path is not known";
  return "the store gave no reason";
}

/** The store acknowledged an object that it does not hold. A later attempt writes it again. */
export function notStored(key: string): StoreError {
  const reason = `the store acknowledged ${key} and does not hold it in full`;
  return new StoreError(`NotStored: ${reason}`, "NotStored", false);
}

/** The code of a call that had no answer in time. */
export const UNANSWERED = "RequestTimeout";

/** No answer came: a reset, a timeout, a name that does not resolve. */
export function unreachable(error: unknown): StoreError {
  const timeout = error instanceof Error && error.name === "TimeoutError";
  return timeout
    ? new StoreError(`${UNANSWERED}: the store did not answer in time`, UNANSWERED, false)
    : new StoreError("ConnectionFailed: the store could not be reached", "ConnectionFailed", false);
}

/** The text of an XML element, entities decoded. */
export function readElement(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  if (text === undefined || text === "") return undefined;
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&#34;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
