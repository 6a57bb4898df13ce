/** What browsers say when a request had no answer: Chromium, Firefox, Safari. */
const NO_ANSWER = /^(Failed to fetch|NetworkError when attempting|Load failed)/;

/** Whether a request had no answer. The server may have got it. */
export const isUnanswered = (error: unknown): boolean => error instanceof Error && NO_ANSWER.test(error.message);

/** An error in words: its message, also where the message is JSON with one inside. */
export function errorText(error: unknown): string {
  const text =
    error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error, null, 2);
  if (NO_ANSWER.test(text)) return "The server did not answer.";
  try {
    const inner = JSON.parse(text) as { message?: unknown; detail?: unknown };
    const words = inner.message ?? inner.detail;
    return typeof words === "string" ? words : text;
  } catch {
    return text;
  }
}
