/**
 * The entry. It is small, so that the first requests and the code of the view are on their way while React still loads.
 * The page's own code is preloaded by `index.html` (vite.config.ts).
 */
import { loadCodeAt, requestFirst } from "./app/prefetch.ts";

requestFirst(location.pathname, location.search, () => false);
void loadCodeAt(location.pathname);
void import("./main.tsx");
