CREATE TABLE `site_deletions` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`home` text NOT NULL,
	`begun_at` integer NOT NULL,
	`kept_at` integer,
	`done_at` integer
);
--> statement-breakpoint
ALTER TABLE `home_sites` ADD `retention_days` integer;
--> statement-breakpoint
ALTER TABLE `sites` ADD `retention_days` integer;