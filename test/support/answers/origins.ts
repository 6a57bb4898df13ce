/** The servers whose answers are compared with /openapi.json. */
export const origins = new Set<string>();

/** Compares the answers of the server at this address. */
export function watchAnswers(url: string): void {
  origins.add(new URL(url).origin);
}
