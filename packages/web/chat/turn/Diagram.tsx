/** A Mermaid diagram. Its source is shown until it is drawn, when it cannot be drawn, and on request. */
import { CodeXml, Workflow } from "lucide-react";
import { useEffect, useState } from "react";
import { type Drawing, type DrawRequest, INKS, type Inks } from "../diagram/protocol.ts";
import { IconButton } from "../../ui/Button.tsx";
import { useScheme, readInk, type Scheme } from "../../ui/device.ts";
import { CodeBlock, Source } from "./Code.tsx";
import css from "./Diagram.module.css";

/** A diagram is shrunk to its frame down to this part of its size. A wider one scrolls. */
const SMALLEST = 0.7;

export default function Diagram({ text }: { text: string }) {
  const drawing = useDrawing(text);
  const [asSource, setAsSource] = useState(false);
  const picture = drawing && "svg" in drawing ? drawing : undefined;
  const label = asSource ? "Show diagram" : "Show source";
  return (
    <CodeBlock
      language="mermaid"
      text={text}
      actions={
        picture && (
          <IconButton label={label} onClick={() => setAsSource(!asSource)}>
            {asSource ? <Workflow size={14} aria-hidden /> : <CodeXml size={14} aria-hidden />}
          </IconButton>
        )
      }
    >
      {picture && !asSource ? <Picture {...picture} /> : <Source text={text} language="mermaid" growing={false} />}
      {drawing && "fault" in drawing && <p className={css.fault}>Not drawn. {drawing.fault}</p>}
    </CodeBlock>
  );
}

/** As an image the SVG runs no script, loads nothing, and keeps its styles: the page's policy does not apply inside it. */
function Picture({ svg, width, height, title }: Extract<Drawing, { svg: string }>) {
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.picture} role="region" aria-label="Diagram" tabIndex={0}>
      <img
        src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`}
        width={Math.ceil(width)}
        height={Math.ceil(height)}
        style={{ minWidth: Math.ceil(width * SMALLEST) }}
        alt={title || "Diagram. “Show source” has its text."}
      />
    </div>
  );
}

/** The drawing in the page's colours. With another scheme the last one stays until the new one is there. */
function useDrawing(text: string): Drawing | undefined {
  const scheme = useScheme();
  const [drawn, setDrawn] = useState<{ of: string; drawing: Drawing }>();
  useEffect(() => {
    let left = false;
    void drawDiagram(text, scheme).then((drawing) => {
      if (!left) setDrawn({ of: text, drawing });
    });
    return () => {
      left = true;
    };
  }, [text, scheme]);
  return drawn?.of === text ? drawn.drawing : undefined;
}

// Has diagrams drawn in a sandboxed frame, one at a time. The frame loads Mermaid with the first diagram.

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
