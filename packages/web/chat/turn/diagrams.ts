/** Has diagrams drawn in a sandboxed frame, one at a time. The frame loads Mermaid with the first diagram. */
import { type Drawing, type DrawRequest, INKS, type Inks } from "../diagram/protocol.ts";
import { readInk, type Scheme } from "../../ui/scheme.ts";
import css from "./Diagram.module.css";

/** Seconds for one diagram, with the load of Mermaid before the first. */
const PATIENCE = 30;
/** Drawings that are kept, so that a message shown again has them at once. */
const KEPT = 40;

const drawings = new Map<string, Promise<Drawing>>();
let frame: Promise<HTMLIFrameElement> | undefined;
let last: Promise<unknown> = Promise.resolve();

/** The drawing of a Mermaid source in the colours of the page. Never rejects: a failure is a drawing with a `fault`. */
export function drawDiagram(text: string, scheme: Scheme): Promise<Drawing> {
  const key = `${scheme} ${text}`;
  const known = drawings.get(key);
  if (known) return known;
  const inks = Object.fromEntries(INKS.map((token) => [token, readInk(token)])) as Inks;
  const drawing = last.then(() => ask({ text, dark: scheme === "dark", inks }));
  last = drawing;
  drawings.set(key, drawing);
  const [oldest] = drawings.keys();
  if (drawings.size > KEPT && oldest !== undefined) drawings.delete(oldest);
  return drawing;
}

function ask(request: DrawRequest): Promise<Drawing> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const timer = setTimeout(() => {
      // A frame that did not load or does not answer is replaced with the next diagram.
      void frame?.then((element) => element.remove());
      frame = undefined;
      drawings.clear();
      resolve({ fault: `It was not drawn within ${PATIENCE} seconds.` });
    }, PATIENCE * 1000);
    port1.addEventListener("message", ({ data }: MessageEvent<Drawing>) => {
      clearTimeout(timer);
      port1.close();
      resolve(data);
    });
    port1.start();
    frame ??= openFrame();
    // The frame has an opaque origin, which has no name but "*".
    void frame.then((element) => element.contentWindow?.postMessage(request, "*", [port2]));
  });
}

/** A frame without the page's origin. It has a size, since text without a layout has none. */
function openFrame(): Promise<HTMLIFrameElement> {
  const element = document.createElement("iframe");
  element.sandbox.add("allow-scripts");
  element.src = "/diagram";
  element.title = "Diagram renderer";
  element.className = css.frame ?? "";
  element.tabIndex = -1;
  element.ariaHidden = "true";
  return new Promise((resolve) => {
    // Its module has run when it has loaded.
    element.addEventListener("load", () => resolve(element), { once: true });
    document.body.append(element);
  });
}
