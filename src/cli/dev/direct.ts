/**
 * Which requests go to the project's Worker itself. Otherwise three Workers of Miniflare pass each request and each answer on, to
 * find files of the page.
 */
import type { IncomingHttpHeaders } from "node:http";
import { DIRECT } from "./entry.ts";
import type { Translated } from "./config.ts";

/** What of a request decides where it goes. */
export interface Addressed {
  url?: string;
  headers: IncomingHttpHeaders;
}

/** What Wrangler's translation says of a Worker's files. */
interface Assets {
  routerConfig?: { static_routing?: { user_worker: string[]; asset_worker?: string[] } };
}

/** For Miniflare: a socket of the Worker's own. */
export const SOCKETS = [{ host: "127.0.0.1", port: 0, entrypoint: DIRECT }];

/** Whether a request goes to the Worker without a search for a file (`run_worker_first`). */
export function skipsAssets({ workerOptions }: Translated): (asked: Addressed) => boolean {
  const { assets } = workerOptions as { assets?: Assets };
  const { user_worker: patterns = [], asset_worker: except = [] } = assets?.routerConfig?.static_routing ?? {};
  const rules = assets ? patterns : ["/*"];
  const exact = new Set(rules.filter((rule) => !rule.includes("*")));
  const folders = rules.filter((rule) => /^[^*]*\/\*$/.test(rule)).map((rule) => rule.slice(0, -1));
  if (except.length > 0) return () => false;
  return ({ url = "/", headers }) => {
    // Miniflare takes the scheme from this header, and answers the paths of the platform.
    if (headers["x-forwarded-proto"] !== undefined || url.startsWith("/cdn-cgi/") || url.includes("/.")) return false;
    const [path = ""] = url.split("?", 1);
    return exact.has(path) || folders.some((folder) => path.startsWith(folder));
  };
}
