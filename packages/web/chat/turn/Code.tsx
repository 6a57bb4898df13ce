/** A block of code: its language, a copy button, and colour once it no longer grows. */
import { Fragment, type ReactNode, useEffect, useState } from "react";
import { CopyButton } from "../../ui/Button.tsx";
import css from "./Code.module.css";
import type { highlight } from "./highlight.ts";

type Tree = NonNullable<ReturnType<typeof highlight>>;

/** Above this, colour costs more than it helps. */
const MOST = 20_000;

interface Props {
  text: string;
  language?: string;
  growing: boolean;
}

export function Code(props: Props) {
  return (
    <CodeBlock text={props.text} language={props.language}>
      <Source {...props} />
    </CodeBlock>
  );
}

/** The frame of a block: the name of its language and the copy button, with further `actions` before it. */
export function CodeBlock({
  text,
  language = "text",
  actions,
  children,
}: {
  text: string;
  language?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <figure className={css.code}>
      <figcaption className={css.head}>
        <span className={css.language}>{language}</span>
        {actions}
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      {children}
    </figure>
  );
}

export function Source({ text, language, growing }: Props) {
  const [tree, setTree] = useState<{ of: string; nodes: Tree }>();
  useEffect(() => {
    if (growing || !language || text.length > MOST) return;
    let left = false;
    const idle = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 50));
    idle(() => {
      void import("./highlight.ts").then(({ highlight }) => {
        const nodes = highlight(text, language);
        if (nodes && !left) setTree({ of: text, nodes });
      });
    });
    return () => {
      left = true;
    };
  }, [text, language, growing]);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre tabIndex={0} role="region" aria-label={language ? `Code, ${language}` : "Code"}>
      <code>{tree?.of === text ? draw(tree.nodes) : text}</code>
    </pre>
  );
}

/** The tree comes from this page's own highlighter: elements are spans, everything else is text. */
function draw(nodes: Tree): ReactNode {
  return nodes.map((node, i) => {
    // The tree is drawn once and never reordered.
    const key = i;
    if (node.type === "text") return <Fragment key={key}>{node.value}</Fragment>;
    if (node.type !== "element") return null;
    const names = node.properties.className;
    return (
      <span key={key} className={Array.isArray(names) ? names.join(" ") : undefined}>
        {draw(node.children)}
      </span>
    );
  });
}
