/** Copies a link by which a person without an account answers the question. */
import { useState } from "react";
import { answerLink, type AnswerLink } from "../../api/queries.ts";
import { useAction } from "../../resources/action.ts";
import { Button } from "../../ui/Button.tsx";
import { soonTime } from "../../ui/time.ts";
import css from "./Decision.module.css";

export function CopyLink({ threadId, interruptId }: { threadId: string; interruptId: string }) {
  const [made, setMade] = useState<AnswerLink>();
  const [copied, setCopied] = useState(false);
  const { busy, trouble, run } = useAction("runs.create");
  const copy = () =>
    run(async () => {
      const link = made ?? (await answerLink(threadId, interruptId));
      setMade(link);
      const taken = await navigator.clipboard.writeText(link.url).then(
        () => true,
        () => false,
      );
      setCopied(taken);
    });
  return (
    <div className={css.link}>
      <Button look="quiet" disabled={busy} onClick={() => void copy()}>
        Copy link to answer
      </Button>
      {made && !copied && !busy && (
        <input
          className={css.reply}
          readOnly
          value={made.url}
          aria-label="Link to answer"
          onFocus={(event) => event.target.select()}
        />
      )}
      <p role={trouble === "" ? "status" : "alert"} className={css.linked}>
        {trouble !== ""
          ? trouble
          : made && `${copied ? "Copied. " : ""}Who has the link can answer until ${soonTime(made.expires_at)}.`}
      </p>
    </div>
  );
}
