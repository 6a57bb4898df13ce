/** Parts of the forms of the console: a labelled control, and the buttons with what went wrong. */
import { type ComponentProps, type ReactNode, useId } from "react";
import type { Action } from "../api/me.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import css from "./parts.module.css";
import { X } from "lucide-react";

interface Labelled {
  label: string;
  help?: ReactNode;
  error?: string | undefined;
}

export function Input({ label, help, error, ...rest }: Labelled & ComponentProps<"input">) {
  return (
    <Row label={label} help={help} error={error}>
      {(shared) => <input autoComplete="off" {...rest} {...shared} />}
    </Row>
  );
}

export function Select({ label, help, error, children, ...rest }: Labelled & ComponentProps<"select">) {
  return (
    <Row label={label} help={help} error={error}>
      {(shared) => (
        <select {...rest} {...shared}>
          {children}
        </select>
      )}
    </Row>
  );
}

/** A text of several lines. `code`: it is read by a program. */
export function TextArea({
  label,
  help,
  error,
  code = false,
  ...rest
}: Labelled & ComponentProps<"textarea"> & { code?: boolean }) {
  return (
    <Row label={label} help={help} error={error}>
      {({ className, ...shared }) => (
        <textarea
          autoComplete="off"
          spellCheck={!code}
          {...rest}
          className={code ? `${className} ${controls.json}` : className}
          {...shared}
        />
      )}
    </Row>
  );
}

interface Shared {
  id: string;
  className: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

function Row({ label, help, error, children }: Labelled & { children: (shared: Shared) => ReactNode }) {
  const id = useId();
  const note = error ?? help;
  return (
    <div className={controls.row}>
      <label htmlFor={id} className={controls.label}>
        {label}
      </label>
      {children({
        id,
        className: controls.field ?? "",
        "aria-invalid": error !== undefined,
        "aria-describedby": note === undefined ? undefined : `${id}-note`,
      })}
      {note !== undefined && (
        <p id={`${id}-note`} className={error === undefined ? controls.help : controls.error}>
          {note}
        </p>
      )}
    </div>
  );
}

/** A form whose work is `onSubmit`. The server's refusal stands above its buttons. */
export function Form({
  action,
  submit,
  onSubmit,
  onCancel,
  children,
}: {
  action: Action;
  /** On the button: verb and object. */
  submit: string;
  onSubmit: () => Promise<void>;
  onCancel: () => void;
  children: ReactNode;
}) {
  return (
    <form
      className={css.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void action.run(onSubmit);
      }}
    >
      {children}
      {action.trouble !== "" && (
        <p className={css.trouble} role="alert">
          {action.trouble}
        </p>
      )}
      {action.refusal !== undefined && <p className={css.note}>{action.refusal}.</p>}
      <div className={css.acts}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button look="filled" type="submit" {...action.button}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

/** One of several things of a form, such as a channel or a judge, with its name and a button that removes it. */
export function Box({ title, onRemove, children }: { title: string; onRemove: () => void; children: ReactNode }) {
  return (
    <div className={css.box} role="group" aria-label={title}>
      <div className={css.boxHead}>
        {title}
        <IconButton label={`Remove ${title}`} onClick={onRemove}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      {children}
    </div>
  );
}

/** Fields of a form that are seldom needed. Open from the beginning when they hold something. */
export function More({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  return (
    <details className={css.more} open={open}>
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
