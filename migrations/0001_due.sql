ALTER TABLE `run_rules` ADD `pauses` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `export_runs` ADD `failed_attempts` integer DEFAULT 0 NOT NULL;