noisy_sum <- function(rows) {
  u <- runif(1) - .5
  round(sum(rows) - 3 * sign(u) * log(1 - 2 * abs(u)), 3)
}
left <- c(3, rep(0, 19))
right <- rep(0, 20)
for (side in c("left", "right")) {
  write.table(replicate(10000, noisy_sum(get(side))), paste0(side, ".csv"), row.names = FALSE, col.names = FALSE)
}
