CREATE TABLE `webhook_secrets` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`sealed` text NOT NULL,
	`hint` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `webhook_secrets_workspace` ON `webhook_secrets` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `webhook_secrets_expiry` ON `webhook_secrets` (`expires_at`);