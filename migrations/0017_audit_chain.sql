CREATE TABLE `audit_roots` (
	`workspace_id` text NOT NULL,
	`day` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`written_at` integer,
	PRIMARY KEY(`workspace_id`, `day`)
);
--> statement-breakpoint
ALTER TABLE `api_keys` ADD `successor_id` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `seq` integer;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `prev_hash` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `hash` text;--> statement-breakpoint
CREATE UNIQUE INDEX `audit_log_chain` ON `audit_log` (`workspace_id`,`seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `audit_log_chain_deployment` ON `audit_log` (`seq`) WHERE "audit_log"."workspace_id" is null;--> statement-breakpoint
CREATE INDEX `audit_log_unchained` ON `audit_log` (`workspace_id`) WHERE "audit_log"."seq" is null;