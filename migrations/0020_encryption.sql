CREATE TABLE `encryption_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`wrapped` text,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`destroyed_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `encryption_keys_workspace` ON `encryption_keys` (`workspace_id`,`version`);