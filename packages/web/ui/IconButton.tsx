import type { ComponentProps } from "react";
import css from "./controls.module.css";

/** A button that is only a picture: its label is its name and its tooltip. */
export function IconButton({ label, className = "", ...rest }: ComponentProps<"button"> & { label: string }) {
  return <button type="button" aria-label={label} title={label} className={`${css.icon} ${className}`} {...rest} />;
}
