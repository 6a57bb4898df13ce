import { type ComponentProps, useEffect, useState } from "react";
import css from "./controls.module.css";
import { Check, Copy } from "lucide-react";

type Look = "plain" | "filled" | "brass" | "quiet" | "danger";

/** A button with words. One filled one in view. */
export function Button({ look = "plain", className = "", ...rest }: ComponentProps<"button"> & { look?: Look }) {
  return <button type="button" className={`${css.button} ${css[look]} ${className}`} {...rest} />;
}

/** A button that is only a picture: its label is its name and its tooltip. */
export function IconButton({ label, className = "", ...rest }: ComponentProps<"button"> & { label: string }) {
  return <button type="button" aria-label={label} title={label} className={`${css.icon} ${className}`} {...rest} />;
}

/** A button that reads as a link, in a line of text. */
export function LinkButton(props: ComponentProps<"button">) {
  return <button type="button" className={css.link} {...props} />;
}

/** Copies, and says so for a moment in the same place. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      label={copied ? "Copied" : label}
      onClick={() => {
        navigator.clipboard.writeText(text).then(
          () => setCopied(true),
          () => setCopied(false),
        );
      }}
    >
      {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </IconButton>
  );
}
