/** Imported before all others: the first requests and the code of the view are on their way before React is evaluated. */
import { loadCodeAt } from "./code.ts";
import { requestFirst } from "./first.ts";

requestFirst(location.pathname, location.search, () => false);
void loadCodeAt(location.pathname);
