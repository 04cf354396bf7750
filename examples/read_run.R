#!/usr/bin/env Rscript
# Reads the rows of a syncscope run and prints the ten most expensive resolved ones.
#
#     Rscript examples/read_run.R results/h200
#
# Needs R alone. docs/FORMATS.md says what each column means.

# The rows of the run in the folder `run`, one for each case. Large tables of stored runs are compressed; read.csv unpacks
# them by itself. An empty cell is NA: not applicable, or not available.
read_rows <- function(run) {
  plain <- file.path(run, "measurements.csv")
  packed <- file.path(run, "measurements.csv.gz")
  rows <- read.csv(
    if (file.exists(plain)) plain else packed,
    na.strings = "",
    # Otherwise an id of digits would become a number.
    colClasses = c(case_id = "character")
  )
  # While a run goes on, a case may have two rows. The last one counts.
  rows[!duplicated(rows$case_id, fromLast = TRUE), ]
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1) {
  stop("usage: read_run.R RUN")
}

rows <- read_rows(arguments[1])
# A figure counts only with the verdict Resolved. `ns_low` and `ns_high` are the interval to quote.
resolved <- rows[rows$verdict == "Resolved", ]
cat(nrow(resolved), "of", nrow(rows), "rows are resolved\n")
columns <- c("primitive", "dtype", "layout", "threads", "blocks", "ns", "ns_low", "ns_high")
# One line a row, and an empty cell where there is no value.
options(width = 120)
print(head(resolved[order(-resolved$ns), columns], 10), row.names = FALSE, na.print = "")
