/** A Mermaid diagram. Its source is shown until it is drawn, when it cannot be drawn, and on request. */
import { CodeXml, Workflow } from "lucide-react";
import { useEffect, useState } from "react";
import type { Drawing } from "../diagram/protocol.ts";
import { IconButton } from "../../ui/IconButton.tsx";
import { useScheme } from "../../ui/scheme.ts";
import { CodeBlock, Source } from "./Code.tsx";
import css from "./Diagram.module.css";
import { drawDiagram } from "./diagrams.ts";

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
    // What scrolls must be reachable by keyboard.
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
