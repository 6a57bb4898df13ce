/** Just enough of a page for React in Node. */
import { Window } from "happy-dom";

export const page = new Window();
// React looks for a document when it is loaded. Requests stay Node's own: no page, no CORS.
Object.assign(globalThis, { window: page, document: page.document });
export const { createElement } = await import("react");
export const { createRoot } = await import("react-dom/client");
