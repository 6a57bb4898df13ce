import { authFetch } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import { isLost, noteConnected, noteLost } from "./connection.ts";

/** Milliseconds until the server is asked again: doubled after each attempt, as by the stream's client. */
const FIRST_MS = 1_000;
const LAST_MS = 6_000;

let asking: Promise<void> | undefined;

/** Asks the server until it answers, and then reads again what was not answered. */
export const awaitServer = (): Promise<void> => (asking ??= ask().finally(() => (asking = undefined)));

async function ask(): Promise<void> {
  if (isLost()) return;
  for (let attempt = 1; ; attempt++) {
    const delayMs = Math.min(FIRST_MS * 2 ** (attempt - 1), LAST_MS);
    noteLost({ attempt, delayMs });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    // The stream was first.
    if (!isLost()) break;
    const isBack = await authFetch("/ok").then(
      ({ ok }) => ok,
      () => false,
    );
    if (isBack) break;
  }
  noteConnected();
  await queryClient.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
}
