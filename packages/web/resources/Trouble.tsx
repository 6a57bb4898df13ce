/** Why an action failed. Renders nothing without a text. */
import work from "./work.module.css";

export function Trouble({ text }: { text: string | undefined }) {
  if (text === undefined || text === "") return null;
  return (
    <p className={work.trouble} role="alert">
      {text}
    </p>
  );
}
