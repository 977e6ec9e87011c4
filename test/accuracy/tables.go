package main

// tables of the page, in their order.
var tables = []table{rateTable(), lagTable(), pausesTable(), stallTable(), delaysTable(), shardsTable(), waitsTable()}
