package main

// tables of the page, in their order.
var tables = []table{rateTable(), lagTable(), stallTable(), delaysTable(), shardsTable(), waitsTable()}
