/** Loads the code of the views that are opened most while the page has nothing to do, so that a click does not wait for it. */
import { queryClient } from "../api/queries.ts";
import { loadCodeAt, loadView } from "./code.ts";

/** Milliseconds after the page has started, and between two looks. */
const WAIT_MS = 2_000;
const AGAIN_MS = 500;

const OFTEN: (() => Promise<unknown>)[] = [
  () => loadView("/chat"),
  () => import("./sidebar/Sidebar.tsx"),
  () => import("../chat/turn/Markdown.tsx"),
  () => import("../chat/session/StreamClient.tsx"),
  () => import("../chat/welcome/Welcome.tsx"),
  () => loadView("/traces"),
  () => loadView("/"),
  () => import("./Sheet.tsx"),
];

/** Safari has no requestIdleCallback. */
const idle = () =>
  new Promise<unknown>((resolve) =>
    "requestIdleCallback" in window ? requestIdleCallback(resolve) : setTimeout(resolve),
  );

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The assistants cannot be read before the sign-in. */
const isQuiet = () => queryClient.getQueryData(["assistants"]) !== undefined && queryClient.isFetching() === 0;

let warmingUp = false;

/** Whether code is loading that no view waits for. When it does not load, the page has lost nothing. */
export const isWarmingUp = () => warmingUp;

/** Does nothing where the browser is to save data. Code that does not load is loaded when its view is opened. */
export async function warmUp(): Promise<void> {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData) return;
  await wait(WAIT_MS);
  for (const load of OFTEN) {
    await loadCodeAt(location.pathname);
    await idle();
    while (!isQuiet()) await wait(AGAIN_MS);
    warmingUp = true;
    await load().finally(() => (warmingUp = false));
  }
}
