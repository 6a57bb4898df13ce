/** An answer's text. The Markdown renderer loads after the page. Until then the text is shown as received. */
import { lazy, memo, Suspense } from "react";
import css from "./parts.module.css";

export const loadMarkdown = () => import("./Markdown.tsx");
const Markdown = lazy(loadMarkdown);

export const MessageText = memo(function MessageText({
  text,
  reasoning,
  growing,
}: {
  text: string;
  reasoning: string;
  growing: boolean;
}) {
  return (
    <div>
      {reasoning !== "" && (
        <details className={css.reasoning}>
          <summary>Reasoning</summary>
          <p className="text">{reasoning}</p>
        </details>
      )}
      {text !== "" && (
        <Suspense fallback={<p className={css.raw}>{text}</p>}>
          <Markdown text={text} growing={growing} />
        </Suspense>
      )}
    </div>
  );
});
