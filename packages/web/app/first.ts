/** What the view of an address requests first. It is requested before the view is drawn, while its code loads. */
import { callAhead, type Request } from "../api/http.ts";
import {
  assistantsRequest,
  infoRequest,
  meRequest,
  newestRunsRequest,
  projectsRequest,
  stateRequest,
  threadRequest,
  threadsRequest,
  traceRequest,
} from "../api/requests.ts";
import { parseRange } from "../resources/presets.ts";
import { listKey, listRequest, readSort, readWanted } from "../traces/runs/request.ts";

/** The key of a query that makes the request. Without one, the view makes the request each time it is opened. */
type Key = readonly unknown[] | undefined;

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const CHAT = new RegExp(`^/chat(?:/(${UUID}))?$`, "i");
const TRACE = new RegExp(`^/traces/(${UUID})$`, "i");

/** Sends the first requests of the view at this address, except those of which the answer is known. */
export function requestFirst(path: string, search: string, isKnown: (key: readonly unknown[]) => boolean): void {
  for (const [key, request] of listFirst(path, new URLSearchParams(search)))
    if (key === undefined || !isKnown(key)) callAhead(request);
}

function* listFirst(path: string, params: URLSearchParams): Generator<[Key, Request]> {
  if (path === "/signed-in") return;
  yield [["me"], meRequest];
  yield [["assistants"], assistantsRequest];
  yield [["info"], infoRequest];
  const trace = TRACE.exec(path)?.[1];
  const project = params.get("project");
  if (trace !== undefined) yield [["trace", trace, project], traceRequest(trace, project, true)];
  if (path === "/traces") {
    yield [["projects"], projectsRequest];
    if (project !== null) {
      const [wanted, range, sort] = [readWanted(params, project), parseRange(params, Date.now()), readSort(params)];
      yield [listKey(wanted, range, sort), listRequest(wanted, range, sort)];
    }
  }
  const chat = CHAT.exec(path);
  const thread = chat?.[1];
  if (thread !== undefined) {
    // A thread answers one request at a time. The run from which the stream is read is known before the state.
    yield [["thread", thread], threadRequest(thread)];
    yield [undefined, newestRunsRequest(thread)];
    yield [undefined, stateRequest(thread)];
  }
  if (chat) yield [["threads"], threadsRequest("", 0)];
  if (chat && thread === undefined) yield [["projects"], projectsRequest];
}

/** Sends the first requests of each view to which the page navigates, before React draws it. */
export function requestOnNavigation(isKnown: (key: readonly unknown[]) => boolean): void {
  let last = location.pathname;
  // The events are wouter's. A replaced address is the same view: a thread that has just begun.
  for (const name of ["pushState", "replaceState", "popstate"])
    addEventListener(name, () => {
      const path = location.pathname;
      if (path !== last && name !== "replaceState") requestFirst(path, location.search, isKnown);
      last = path;
    });
}
