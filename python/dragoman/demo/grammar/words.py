"""The other words: adjectives, adverbials, names, places and conjunctions, a line each, read by `lexicon`."""

__all__ = ["ADJECTIVES", "AFTER", "COMMENTS", "DIRECTIONS", "INTENT", "MATRIX", "NAMES", "PLACES", "TIMES"]

# Stem (and the form after `ist`, where it differs) | British / American | kinds that it can be said of.
ADJECTIVES = """
alt           | old                    | person animal building vehicle clothes text device fitting seat tool thing room
neu           | new                    | building vehicle clothes text device fitting seat tool thing part plan show staff form
klein         | small                  | person animal building vehicle thing room home seat mail firm toy
groß          | big                    | animal building vehicle thing room home seat firm bin
schön         | beautiful              | sight clothes home seat trip show animal taste
teur:teuer    | expensive              | vehicle clothes device home thing part trip seat
billig        | cheap                  | vehicle clothes device thing part seat bulb
grau          | grey / gray            | clothes animal vehicle building fitting seat wall thing
rot           | red                    | clothes vehicle fitting thing toy seat
blau          | blue                   | clothes vehicle fitting thing toy seat
bunt          | colourful / colorful   | clothes animal text toy thing
lang          | long                   | text queue trip event show mail
kurz          | short                  | text event trip show mail
wichtig       | important              | text form event mail talk plan
neugierig     | curious / nosy         | person animal
freundlich    | friendly               | person
jung          | young                  | person animal
müd:müde      | tired                  | person animal
wütend        | angry / mad            | person
verrückt      | mad / crazy            | person
krank         | ill / sick             | person animal
gemütlich     | cosy / cozy            | home room seat
dunkl:dunkel  | dark                   | room road clothes building
hoh:hoch      | high                   | building wall bill tool
kaputt        | broken                 | device fitting bulb part tool seat vehicle
schmutzig     | dirty                  | clothes vehicle room road fitting
frisch        | fresh                  | food
lecker        | tasty / delicious      | food drink
heiß          | hot                    | drink
schlecht      | bad                    | mark show food plan event
gut           | good                   | mark show food plan staff drink
seltsam       | strange / weird        | taste talk animal person
lustig        | funny                  | talk show person
berühmt       | famous                 | sight show
langweilig    | boring                 | show event book
schwer        | heavy                  | thing tool toy
"""

# German | British / American | when: past, now, habit, future, perfect; `mid` stands before the main verb in English.
TIMES = """
gestern               | yesterday                          | past
gestern Abend         | last night                         | past
letzte Woche          | last week                          | past
vor drei Tagen        | three days ago                     | past
vor einem Monat       | a month ago                        | past
am Montag             | on Monday                          | past
letzten Sommer        | last summer                        | past
letzten Herbst        | last autumn / last fall            | past
am Wochenende         | at the weekend / on the weekend    | past
an Weihnachten        | at Christmas / over Christmas      | past
vor zwei Wochen       | a fortnight ago / two weeks ago    | past
heute Morgen          | this morning                       | past
jetzt                 | now                                | now
gerade                | at the moment / right now          | now
im Moment             | at the moment / right now          | now
jeden Tag             | every day                          | habit
jeden Morgen          | every morning                      | habit
am Abend              | in the evening                     | habit
im Herbst             | in autumn / in the fall            | habit
am Wochenende         | at weekends / on weekends          | habit
oft                   | often mid                          | habit
immer                 | always mid                         | habit
nie                   | never mid                          | habit no
manchmal              | sometimes mid                      | habit
selten                | rarely mid                         | habit
morgen                | tomorrow                           | future
nächste Woche         | next week                          | future
nächsten Herbst       | next autumn / next fall            | future
am Dienstag           | on Tuesday                         | future
bald                  | soon                               | future
in vierzehn Tagen     | in a fortnight / in two weeks      | future
gerade                | just mid                           | perfect
schon                 | already mid                        | perfect
"""

# German | British / American | tags that verbs ask for.
PLACES = """
im Wohnzimmer         | in the living room                              | home
in der Küche          | in the kitchen                                  | home
zu Hause              | at home                                         | home
in der Wohnung        | in the flat / in the apartment                  | home
im Keller             | in the cellar / in the basement                 | home
im Erdgeschoss        | on the ground floor / on the first floor        | home office
im Garten             | in the garden / in the yard                     | out home
im Park               | in the park                                     | out
am Strand             | on the beach                                    | out
auf dem Spielplatz    | in the playground / on the playground           | out
im Supermarkt         | at the supermarket                              | shop
im Einkaufszentrum    | at the shopping centre / at the mall            | shop
in der Apotheke       | at the chemist's / at the drugstore             | shop
im Laden              | in the shop / at the store                      | shop
auf dem Markt         | at the market                                   | shop town
im Büro               | at the office                                   | office
in der Firma          | at the firm / at the company                    | office
an der Universität    | at university / in college                      | office school
in der Schule         | at school / in school                           | school
vor Gericht           | in court                                        | court
in der Stadt          | in town                                         | town
im Stadtzentrum       | in the city centre / downtown                   | town
am Bahnhof            | at the railway station / at the train station   | town
am Flughafen          | at the airport                                  | town
im Café               | at the café                                     | town
in der U-Bahn         | on the underground / on the subway              | town
an der Haltestelle    | at the stop                                     | town road
auf der Straße        | in the street / on the street                   | road
auf der Autobahn      | on the motorway / on the freeway                | road
auf dem Parkplatz     | in the car park / in the parking lot            | road
an der Kreuzung       | at the junction / at the intersection           | road
an der Tankstelle     | at the petrol station / at the gas station      | road
auf dem Sofa          | on the sofa / on the couch                      | seats
"""

# The same for where somebody goes (to), comes from (from), or goes to live (city).
DIRECTIONS = """
ins Kino              | to the cinema / to the movies                   | to
ins Theater           | to the theatre / to the theater                 | to
ins Büro              | to the office                                   | to
ins Stadtzentrum      | to the city centre / downtown                   | to
in den Park           | to the park                                     | to
in die Schule         | to school                                       | to
zum Bahnhof           | to the railway station / to the train station   | to
zum Flughafen         | to the airport                                  | to
zur Arbeit            | to work                                         | to
zum Arzt              | to the doctor's / to the doctor                 | to
zur Tankstelle        | to the petrol station / to the gas station      | to
zum Einkaufszentrum   | to the shopping centre / to the mall            | to
nach Hause            | home                                            | to
in den Urlaub         | on holiday / on vacation                        | to
nach Berlin           | to Berlin                                       | city
nach London           | to London                                       | city
nach München          | to Munich                                       | city
nach Köln             | to Cologne                                      | city
ans Meer              | to the seaside / to the ocean                   | city
aufs Land             | to the country                                  | city
aus dem Urlaub        | from holiday / from vacation                    | from
aus der Schule        | from school                                     | from
aus Wien              | from Vienna                                     | from
vom Bahnhof           | from the railway station / from the train station | from
von der Arbeit        | from work                                       | from
"""

# er or sie tells the possessive.
NAMES = "Anna sie, Peter er, Lena sie, Thomas er, Julia sie, Paul er, Maria sie, Felix er, Sophie sie, Max er"

# Verbs, as in `verbs`, and the words that the clause after them begins with; `nicht` makes them negative.
MATRIX = """
glauben glaubt glaubte geglaubt | think:thought:thought | dass=that
sagen sagt sagte gesagt | say:said:said | dass=that
wissen weiß wusste gewusst | know:knew:known | dass=that
hoffen hofft hoffte gehofft | hope | dass=that
behaupten behauptet behauptete behauptet | claim | dass=that
wissen weiß wusste gewusst | know:knew:known | nicht ob=whether warum=why wann=when wo=where
sich fragen fragt fragte gefragt | wonder | ob=whether warum=why wo=where
"""

# Verbs with an infinitive after `zu`.
INTENT = """
versuchen versucht versuchte versucht | try
vergessen vergisst vergaß vergessen | forget:forgot:forgotten
vor+haben hat hatte gehabt | plan:planned:planned
an+fangen fängt fing gefangen | start / begin:began:begun
versprechen verspricht versprach versprochen | promise
sich entscheiden entscheidet entschied entschieden | decide
sich weigern weigert weigerte geweigert | refuse
"""

# Conjunction | British / American | tense of the main clause, and of the one after the conjunction.
AFTER = """
weil      | because                | past past
weil      | because                | habit habit
weil      | because                | future habit
weil      | because                | perfect past
obwohl    | although               | past past
obwohl    | although               | habit habit
obwohl    | although               | future modal
obwohl    | although               | now habit
als       | when                   | past pastold
bevor     | before                 | past pastold
nachdem   | after                  | past pluperfect
wenn      | if                     | future condition
wenn      | when / whenever        | habit condition
während   | while                  | now now
während   | while                  | past past
sodass    | so that                | past pastmodal
denn      | because / since        | past past
"""

COMMENTS = """
vielleicht      | perhaps / maybe
leider          | unfortunately
natürlich       | of course
"""
