/**
 * Text of a model as Markdown. The text is untrusted: no raw HTML, no foreign schemes, and images load only on request.
 */
import { Lexer } from "marked";
import {
  type ComponentProps,
  isValidElement,
  lazy,
  memo,
  type ReactNode,
  Suspense,
  useEffect,
  useMemo,
  useState,
} from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { Code } from "./Code.tsx";
import { autoDirection } from "./direction.ts";
import { withFormulas } from "./formulas.ts";
import css from "./Markdown.module.css";
import type * as MathModule from "./math.ts";

const PLUGINS = [remarkGfm];
const Diagram = lazy(() => import("./Diagram.tsx"));

/** Renders block by block: a growing answer redraws its last block only. */
export default function Markdown({ text, growing }: { text: string; growing: boolean }) {
  const blocks = useMemo(
    () => Lexer.lex(text).map(({ type, raw }) => ({ raw, formulas: type === "code" ? undefined : withFormulas(raw) })),
    [text],
  );
  const math = useMath(blocks.some((block) => block.formulas !== undefined));
  return (
    <div className={css.prose}>
      {blocks.map((block, i) => (
        // A block keeps its place while the text grows.
        // oxlint-disable-next-line react/no-array-index-key
        <Block
          key={i}
          text={(math && block.formulas) ?? block.raw}
          math={block.formulas === undefined ? undefined : math}
          growing={growing && i === blocks.length - 1}
        />
      ))}
    </div>
  );
}

let loadedMath: typeof MathModule | undefined;

/** The renderer of formulas, once it is wanted and there. Until then a formula is text. */
function useMath(wanted: boolean): typeof MathModule | undefined {
  const [math, setMath] = useState(loadedMath);
  useEffect(() => {
    if (!wanted || math) return;
    let left = false;
    void import("./math.ts").then((module) => {
      loadedMath = module;
      if (!left) setMath(module);
    });
    return () => {
      left = true;
    };
  }, [wanted, math]);
  return math;
}

const Block = memo(function Block({
  text,
  math,
  growing,
}: {
  text: string;
  math: typeof MathModule | undefined;
  growing: boolean;
}) {
  const whole = growing ? remend(text, { linkMode: "text-only" }) : text;
  return (
    <ReactMarkdown
      remarkPlugins={math ? [...PLUGINS, math.remark] : PLUGINS}
      rehypePlugins={math ? [autoDirection, math.rehype] : [autoDirection]}
      components={growing ? GROWING : COMPONENTS}
      skipHtml
      urlTransform={(url) => (/^(https?:|mailto:)/i.test(url) ? url : "")}
    >
      {whole}
    </ReactMarkdown>
  );
});

const COMPONENTS: Components = { a: Link, img: OfferedImage, pre: Fence, table: Table };
const GROWING: Components = { ...COMPONENTS, pre: (props) => <Fence {...props} growing /> };

function parseHost(url: string | undefined): string | undefined {
  return url && URL.canParse(url) ? new URL(url).host || undefined : undefined;
}

function Link({ href, children }: ComponentProps<"a">) {
  if (!href) return <span>{children}</span>;
  const host = parseHost(href);
  const shown = host && !textWithin(children).includes(host);
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {children}
      {shown && <span className={css.host}> {host}</span>}
    </a>
  );
}

/** An image's address can carry data out, so the reader decides. */
function OfferedImage({ src, alt }: ComponentProps<"img">) {
  const [wanted, setWanted] = useState(false);
  const url = typeof src === "string" ? src : undefined;
  if (!url) return <span>{alt}</span>;
  if (wanted) return <img className={css.image} src={url} alt={alt ?? ""} referrerPolicy="no-referrer" />;
  return (
    <button type="button" className={css.offer} onClick={() => setWanted(true)} title={url}>
      Load image{alt ? ` “${alt}”` : ""} <span className={css.host}>from {parseHost(url) ?? "an unknown host"}</span>
    </button>
  );
}

function Fence({ children, growing = false }: ComponentProps<"pre"> & { growing?: boolean }) {
  const code = isValidElement<{ className?: string; children?: ReactNode }>(children) ? children.props : {};
  const language = /language-(\S+)/.exec(code.className ?? "")?.[1];
  const text = textWithin(code.children).replace(/\n$/, "");
  const source = <Code text={text} language={language} growing={growing} />;
  if (language !== "mermaid" || growing) return source;
  return (
    <Suspense fallback={source}>
      <Diagram text={text} />
    </Suspense>
  );
}

function Table({ children }: ComponentProps<"table">) {
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.table} role="region" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

function textWithin(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return (node as ReactNode[]).map(textWithin).join("");
  return isValidElement<{ children?: ReactNode }>(node) ? textWithin(node.props.children) : "";
}
